/** What holds for every way to reach a server. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { waitFor } from '../../../../test/support/wait-for.ts';
import {
  bareModernServer,
  httpServer,
  linesOf,
  program,
  startServers,
  temporaryDirectory,
} from './testing/running-servers.ts';

/** Of the example server. */
const TOOLS = 19;

/** Each way to be connected, and the entry of the configuration for it. */
const WAYS: [string, () => Promise<Record<string, unknown>>][] = [
  ['a child process', async () => program('stdio-server')],
  ['a child process that speaks the newer protocol alone', async () => program('stdio-server', '--modern')],
  ['HTTP with sessions', async () => ({ url: (await httpServer('session')).url })],
  ['HTTP without sessions', async () => ({ url: (await httpServer('stateless')).url })],
  ['HTTP that speaks the newer protocol alone', async () => ({ url: (await httpServer('modern')).url })],
];

describe.each(WAYS)('over %s', (way, entry) => {
  test('tools are listed, all pages of them, and called; a call ends with its run, and the server is told', async () => {
    const { ready, servers, call } = startServers({ example: await entry() });
    const { tools, restarts } = await ready();
    expect(tools).toHaveLength(TOOLS);
    expect(restarts).toBeLessThanOrEqual(1);
    for (const name of tools) expect(name).toMatch(/^mcp__example__[A-Za-z0-9_-]{1,50}$/);
    expect(tools).toContain('mcp__example__echo');
    expect(
      servers.list().find(({ definition }) => definition.name === 'mcp__example__echo')?.definition,
    ).toEqual({
      name: 'mcp__example__echo',
      description: 'The tool echo',
      parameters: {
        type: 'object',
        properties: { text: { type: 'string', description: 'What to say' } },
        required: ['text'],
        additionalProperties: false,
      },
    });
    expect(await call('mcp__example__echo', { text: 'héllo' })).toEqual({ output: 'héllo', isError: false });
    const odd = tools.filter((name) => /who_am_i|much_too_long|a_tool/.test(name));
    expect(odd).toHaveLength(2);
    expect(await call(odd[1]!)).toEqual({ output: 'long', isError: false });

    const file = join(temporaryDirectory(), 'file');
    const stop = new AbortController();
    const outcome = call('mcp__example__wait', { file }, stop.signal);
    await waitFor('the call to begin', () => linesOf(file).includes('begun'));
    stop.abort(new Error('stop'));
    expect(await outcome).toEqual({ output: 'The call was stopped.', isError: true });
    await waitFor('the cancellation', () => linesOf(file).includes('cancelled'));
    expect((await call('mcp__example__echo', { text: 'on' })).output).toBe('on');
  });

  // A server is told in the same way that a call was stopped.
  const tags = ['a child process', 'HTTP with sessions'].includes(way) ? [] : ['soak'];
  test('a call that takes too long is given up and cancelled', { tags }, async () => {
    const file = join(temporaryDirectory(), 'file');
    const { ready, call, health } = startServers({ example: { ...(await entry()), timeout_seconds: 0.5 } });
    await ready();
    const outcome = await call('mcp__example__wait', { file });
    expect(outcome.isError).toBe(true);
    expect(outcome.output).toMatch(
      /no answer within 0\.5 s and was told to stop.*Check the state before you repeat/,
    );
    await waitFor('the cancellation', () => linesOf(file).includes('cancelled'));
    expect(health().status).toBe('ready');
  });
});

describe.each(WAYS.filter(([way]) => way !== 'HTTP without sessions' && !way.includes('HTTP that')))(
  'over %s',
  (_way, entry) => {
    test('tools come and go', async () => {
      const name = `fresh_${Math.random().toString(36).slice(2)}`;
      const { ready, call, health } = startServers({ example: await entry() });
      await ready();
      const full = `mcp__example__${name}`;
      expect(await call(full).catch((error: Error) => error.message)).toMatch(
        new RegExp(`has no tool '${full}' now. Its tools: mcp__example__echo, `),
      );
      await call('mcp__example__learn', { name });
      await waitFor('the new tool', () => health().tools.includes(full));
      expect((await call(full)).output).toBe('new');
      await call('mcp__example__forget', { name });
      await waitFor('the tool to be gone', () => !health().tools.includes(full));
      await expect(call(full)).rejects.toThrow(/has no tool/);
    });
  },
);

test('over HTTP every request of the newer protocol says its version and its method, also the first one', async () => {
  const server = await httpServer('modern');
  const { ready, call } = startServers({ example: { url: server.url } });
  expect((await ready()).restarts).toBe(0);
  await call('mcp__example__echo', { text: 'x' });
  const said = server.requests.map((headers) => [headers['mcp-protocol-version'], headers['mcp-method']]);
  expect(said[0]).toEqual(['2026-07-28', 'server/discover']);
  for (const [version, method] of said) {
    expect(version).toBe('2026-07-28');
    expect(method).toMatch(/^[a-z]+\/[a-z]+$/);
  }
  expect(server.requests.at(-1)).toMatchObject({ 'mcp-method': 'tools/call', 'mcp-name': 'echo' });
});

test('over HTTP a server with a handshake is connected at the first attempt, and then gets the version it chose', async () => {
  const server = await httpServer('session');
  const { ready } = startServers({ example: { url: server.url } });
  expect((await ready()).restarts).toBe(0);
  const [probe, handshake, ...rest] = server.requests.map((headers) => headers['mcp-protocol-version']);
  expect([probe, handshake]).toEqual(['2026-07-28', undefined]);
  for (const version of rest) expect(version).toBe('2025-11-25');
});

test('over HTTP a server that is silent when asked for the newer protocol gets the handshake soon', async () => {
  const serverInfo = { name: 'x', version: '1' };
  const { url } = await bareModernServer({
    'server/discover': () => undefined,
    initialize: () => ({ protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo }),
    'tools/call': () => ({ content: [{ type: 'text', text: 'fine' }] }),
  });
  const { ready, call, logged } = startServers({ example: { url, connect_timeout_seconds: 4 } });
  expect((await ready()).restarts).toBe(1);
  expect(logged()).toContain('gave no answer within 2 s');
  expect((await call('mcp__example__x')).output).toBe('fine');
});

test('in the newer protocol a result without a type is complete', async () => {
  const { url } = await bareModernServer({
    'tools/call': () => ({ content: [{ type: 'text', text: 'done' }] }),
  });
  const { ready, call } = startServers({ example: { url } });
  expect((await ready()).restarts).toBe(0);
  expect(await call('mcp__example__x')).toEqual({ output: 'done', isError: false });
});
