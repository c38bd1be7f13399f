/**
 * A real MCP server with tools for every case of the tests. It lists its tools in pages of five, so that its users have
 * to follow the cursor.
 */
import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { type CallToolResult, Server, type Tool } from '@modelcontextprotocol/server';

const PAGE = 5;
const ANY = { type: 'object' as const };
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

type Arguments = Record<string, unknown>;
type Handler = (
  args: Arguments,
  signal: AbortSignal,
  server: Server,
) => CallToolResult | Promise<CallToolResult>;

const HANDLERS: Record<string, Handler> = {
  echo: ({ text: said }) => text(String(said)),
  environment: () => text(JSON.stringify(process.env)),
  'who.am.i?': () => text(String(process.pid)),
  [`a tool with a name that is much too long for any provider ${'x'.repeat(60)}`]: () => text('long'),
  add: ({ a, b }) => {
    const sum = { sum: Number(a) + Number(b) };
    return { content: [{ type: 'text', text: JSON.stringify(sum) }], structuredContent: sum };
  },
  structured: () => ({ content: [], structuredContent: { answer: 42 } }),
  wrong_form: () => text('there is no structured content, although there is a schema for it'),
  show: () => ({
    content: [
      { type: 'text', text: 'Look:' },
      { type: 'image', mimeType: 'image/png', data: PIXEL },
      { type: 'audio', mimeType: 'audio/wav', data: 'AAAA' },
      { type: 'resource', resource: { uri: 'file:///notes.txt', mimeType: 'text/plain', text: 'a note' } },
      { type: 'resource', resource: { uri: 'file:///blob', blob: 'AAAAAAAA' } },
      { type: 'resource_link', uri: 'https://example.com/', name: 'a page', description: 'to read' },
    ],
  }),
  nothing: () => ({ content: [] }),
  big: ({ bytes }) => text(`${'a'.repeat(Number(bytes) - 4)}END!`),
  fail: () => ({ content: [{ type: 'text', text: 'that did not work' }], isError: true }),
  refuse: () => {
    throw new Error('no such thing');
  },
  /** Records in a file that it has begun, and whether it was told to stop. */
  wait: async ({ file, ms }, signal) => {
    appendFileSync(String(file), 'begun\n');
    try {
      await delay(Number(ms ?? 3_600_000), undefined, { signal });
      appendFileSync(String(file), 'done\n');
    } catch {
      appendFileSync(String(file), 'cancelled\n');
    }
    return text('waited');
  },
  /** Asks a person, whether the client can do that or not, and continues without an answer. */
  ask: async ({ message }, _signal, server) => {
    const requestedSchema = { type: 'object' as const, properties: { city: { type: 'string' as const } } };
    const params = { message: String(message), requestedSchema };
    try {
      return text((await server.request({ method: 'elicitation/create', params })).action);
    } catch (error) {
      return text(`no answer: ${(error as Error).message}`);
    }
  },
  complain: ({ text: said }) => {
    process.stderr.write(`${said}\n`);
    return text('complained');
  },
  /** Leaves a process behind that outlives this one, unless somebody ends its group. */
  leave_behind: ({ marker }) => {
    spawn('sleep', [String(marker)], { stdio: 'ignore' });
    return text('started');
  },
  exit: ({ code }) => {
    process.stderr.write('Error: I was told to\n    at some line of a stack\n');
    process.exit(Number(code));
  },
  /** Adds a further tool, and says so. */
  learn: async ({ name }, _signal, server) => {
    learned.add(String(name));
    await server.sendToolListChanged();
    return text('learned');
  },
  forget: async ({ name }, _signal, server) => {
    learned.delete(String(name));
    await server.sendToolListChanged();
    return text('forgotten');
  },
};

const learned = new Set<string>();

export function createExampleServer(): Server {
  const server = new Server(
    { name: 'example', version: '1.0.0' },
    { capabilities: { tools: { listChanged: true } } },
  );
  server.setRequestHandler('tools/list', (request) => {
    const from = Number(request.params?.cursor ?? 0);
    const tools = [...Object.keys(HANDLERS), ...learned].map(describe);
    return {
      tools: tools.slice(from, from + PAGE),
      ...(from + PAGE < tools.length ? { nextCursor: String(from + PAGE) } : {}),
    };
  });
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const handler = HANDLERS[params.name];
    if (handler !== undefined) return handler(params.arguments ?? {}, context.mcpReq.signal, server);
    return learned.has(params.name) ? text('new') : text(`no tool ${params.name}`, true);
  });
  return server;
}

function describe(name: string): Tool {
  const about = { name, description: `The tool ${name}`, inputSchema: ANY };
  if (name === 'echo') {
    const inputSchema = {
      type: 'object' as const,
      properties: { text: { type: 'string', description: 'What to say' } },
      required: ['text'],
      additionalProperties: false,
    };
    return { ...about, inputSchema };
  }
  if (name !== 'wrong_form') return about;
  return { ...about, outputSchema: { type: 'object' as const, properties: { x: { type: 'number' } } } };
}

function text(said: string, isError = false): CallToolResult {
  return { content: [{ type: 'text', text: said }], isError };
}
