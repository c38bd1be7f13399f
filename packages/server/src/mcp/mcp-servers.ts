/** The configured MCP servers, as one source of further tools for every run. */
import type { FurtherTools, Tool } from '../agent/tools/tool.ts';
import type { McpServerConfig } from '../config/index.ts';
import { McpServer, type McpServerHealth, type McpServerOptions } from './mcp-server.ts';
import { serverOf } from './tool-names.ts';

/**
 * A run that is claimed right after the start may have used these tools before: without them in its next step the model
 * would think it never had them. So such a run waits for the first attempts, if they are quick.
 */
const FIRST_ATTEMPTS_MS = 3_000;

export class McpServers implements FurtherTools {
  readonly #servers: readonly McpServer[];
  #tried: Promise<unknown> = Promise.resolve();

  constructor(configs: readonly McpServerConfig[], options: Omit<McpServerOptions, 'config'>) {
    this.#servers = configs.map((config) => new McpServer({ ...options, config }));
  }

  /**
   * Connects in the background, from the next turn on: loading the SDK takes a while, and other parts are about to
   * start.
   */
  start(): void {
    setImmediate(() => {
      for (const server of this.#servers) server.start();
    });
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, FIRST_ATTEMPTS_MS);
    });
    const tried = Promise.all(this.#servers.map((server) => server.tried));
    this.#tried = Promise.race([tried, limit]).finally(() => clearTimeout(timer));
  }

  /** Resolves when every server was tried once, or a moment after the start. */
  async tried(): Promise<void> {
    await this.#tried;
  }

  list(): Tool[] {
    return this.#servers.flatMap((server) => server.tools);
  }

  whyMissing(name: string): string | undefined {
    const owner = serverOf(name);
    return this.#servers.find((server) => server.name === owner)?.whyMissing(name);
  }

  health(): McpServerHealth[] {
    return this.#servers.map((server) => server.health());
  }

  /** Resolves when all their processes are gone, in bounded time. */
  async close(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.close()));
  }
}
