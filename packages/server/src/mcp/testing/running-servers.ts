/** Shared by the tests of this folder: MCP servers from a configuration, called as the agent calls them. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { type HttpKind, listen, startHttpMcpServer } from '../../../../../test/support/mcp/http-server.ts';
import { waitFor } from '../../../../../test/support/wait-for.ts';
import { ToolSet } from '../../agent/tools/tool.ts';
import { configSecrets } from '../../config/index.ts';
import { load } from '../../config/testing/load.ts';
import { Secrets } from '../../secrets/secrets.ts';
import type { McpServerHealth } from '../mcp-server.ts';
import { McpServers } from '../mcp-servers.ts';

const SUPPORT = new URL('../../../../../test/support/mcp/', import.meta.url);

export function program(name: 'stdio-server' | 'broken-server' | 'http-server', ...args: string[]) {
  return {
    command: process.execPath,
    args: [fileURLToPath(new URL(`${name}.ts`, SUPPORT)), ...args],
    // With it, half the processor time of a start.
    env: { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? '' },
  };
}

export interface Running {
  servers: McpServers;
  /** Everything that was logged, as text. */
  logged(): string;
  health(name?: string): McpServerHealth;
  ready(name?: string): Promise<McpServerHealth>;
  failed(name?: string): Promise<McpServerHealth>;
  /** Calls a tool by the name the model knows it by. */
  call(
    tool: string,
    args?: Record<string, unknown>,
    signal?: AbortSignal,
  ): Promise<{ output: string; isError: boolean }>;
}

/** Starts them, and ends them after the test. Without a name, the first one is meant. */
export function startServers(
  entries: Record<string, Record<string, unknown>>,
  environment: Record<string, string> = { PATH: process.env.PATH ?? '' },
): Running {
  const { config } = load({ env: { TALARIA_MCP_SERVERS: JSON.stringify(entries), ...environment } });
  const secrets = new Secrets(configSecrets(config));
  const lines: string[] = [];
  const write = (fields: object, message: string) => void lines.push(JSON.stringify({ ...fields, message }));
  const servers = new McpServers(config.mcpServers, {
    environment,
    toolTimeoutSeconds: 20,
    secrets,
    log: { debug: write, info: write, warn: write, error: write },
  });
  onTestFinished(() => servers.close());
  servers.start();
  const first = config.mcpServers[0]!.name;
  const tools = new ToolSet([], servers);
  const health = (name = first) => servers.health().find((server) => server.name === name)!;
  const reached = (status: McpServerHealth['status'], name: string) =>
    waitFor(`${name} to be ${status}`, () => health(name).status === status && health(name));
  return {
    servers,
    health,
    logged: () => lines.join('\n'),
    ready: (name = first) => reached('ready', name),
    failed: (name = first) => reached('failed', name),
    async call(tool, args = {}, signal = new AbortController().signal) {
      const prepared = tools.prepare(tool, JSON.stringify(args), () => []);
      if ('client' in prepared) throw new Error(`${tool} is a tool of the client`);
      return prepared.execute(signal);
    },
  };
}

export function temporaryDirectory(): string {
  const dir = mkdtempSync(join(tmpdir(), 'talaria-mcp-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** The lines of a file that a tool writes; none while there is no such file. */
export function linesOf(file: string): string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
}

/** The example server over HTTP, until the end of the test. */
export async function httpServer(kind: HttpKind) {
  const server = await startHttpMcpServer(kind);
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

type Answers = Record<string, (params: { requestState?: string }) => object | undefined>;

/**
 * A server without an SDK, of the newer protocol unless the test gives other answers. Its results say nothing of their type
 * unless the test does. It never answers a request that has an answer without a result, and refuses one that has none.
 */
export async function bareModernServer(answers: Answers) {
  const all: Answers = {
    'server/discover': () => ({ supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }),
    'tools/list': () => ({ tools: [{ name: 'x', inputSchema: { type: 'object' } }] }),
    ...answers,
  };
  const server = await listen(async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const { id, method, params } = JSON.parse(body === '' ? '{}' : body);
    const answer = all[method];
    if (answer === undefined) {
      const isNotification = request.method === 'POST' && id === undefined;
      response.writeHead(isNotification ? 202 : 400).end();
      return;
    }
    const result = answer(params);
    if (result === undefined) return;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}
