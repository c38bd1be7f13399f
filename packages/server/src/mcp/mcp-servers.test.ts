import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { processesWith } from '../../../../test/e2e/server-with-model.ts';
import { waitFor } from '../../../../test/support/wait-for.ts';
import { httpServer, program, startServers } from './testing/running-servers.ts';

test('offers only the tools that the configuration names, and logs a missing one', async () => {
  const { ready, logged } = startServers({
    example: { ...program('stdio-server'), tools: ['echo', 'gone'] },
  });
  expect((await ready()).tools).toEqual(['mcp__example__echo']);
  expect(logged()).toContain('"missing":["gone"]');
});

test('does not start a disabled server', async () => {
  const { servers, health } = startServers({ example: { command: 'no-such-program', enabled: false } });
  await servers.tried();
  expect(health()).toMatchObject({ status: 'disabled', restarts: 0, tools: [] });
  expect(servers.whyMissing('mcp__example__x')).toBe("The MCP server 'example' is switched off.");
});

test('a child process gets the configured variables and a few others, and nothing else', async () => {
  const environment = {
    PATH: process.env.PATH!,
    HOME: '/home/ada',
    SERVER_KEY: 's3cret',
    LANG: 'C.UTF-8',
    K: 'key-1',
  };
  const entry = { ...program('stdio-server'), env: { TOKEN: `\${K}`, LANG: 'de_DE.UTF-8' }, cwd: '/' };
  const { ready, call } = startServers({ example: entry }, environment);
  await ready();
  expect(JSON.parse((await call('mcp__example__environment')).output)).toEqual({
    PATH: environment.PATH,
    HOME: '/home/ada',
    LANG: 'de_DE.UTF-8',
    TOKEN: 'key-1',
  });
});

test('headers are sent with every request', async () => {
  const server = await httpServer('session');
  const { ready, call } = startServers({ example: { url: server.url, headers: { 'X-Key': 'key-1' } } });
  await ready();
  await call('mcp__example__echo', { text: 'x' });
  expect(server.requests.length).toBeGreaterThan(3);
  for (const headers of server.requests) expect(headers['x-key']).toBe('key-1');
});

test('its error output is logged without secrets, and bounded', async () => {
  const { ready, call, logged } = startServers({
    example: { ...program('stdio-server'), env: { API_TOKEN: 's3cret-token-1' } },
  });
  await ready();
  await call('mcp__example__complain', { text: 'the token is s3cret-token-1, and Bearer abcdefgh12345' });
  await waitFor('the line', () => logged().includes('the token is'));
  expect(logged()).toContain('the token is [redacted], and Bearer [redacted]');
  await call('mcp__example__complain', { text: 'again and again\n'.repeat(1000) });
  await call('mcp__example__echo', { text: 'x' });
  expect(logged().match(/again and again/g)!.length).toBeLessThanOrEqual(100);
});

describe('closing', () => {
  test('also ends what a server has started', async () => {
    const marker = `3600.${process.pid}${Math.random().toString().slice(2, 10)}`;
    const { ready, call, servers } = startServers({ example: program('stdio-server') });
    await ready();
    await call('mcp__example__leave_behind', { marker });
    await waitFor('the grandchild', () => processesWith(marker).length === 1);
    await servers.close();
    await waitFor('the grandchild to be gone', () => processesWith(marker).length === 0);
  });

  test('ends a server that ignores everything, and its calls', async () => {
    const { ready, call, servers } = startServers({ deaf: program('broken-server', 'deaf') });
    await ready();
    const waiting = call('mcp__deaf__only');
    await servers.close();
    expect(await waiting).toMatchObject({ isError: true });
    expect(processesWith('broken-server.ts\0deaf')).toEqual([]);
  });

  test('ends an attempt to connect', async () => {
    const { servers } = startServers({ silent: program('broken-server', 'silent') });
    await waitFor('the process', () => processesWith('broken-server.ts\0silent').length > 0);
    await servers.close();
    expect(processesWith('broken-server.ts\0silent')).toEqual([]);
  });

  test('works at any moment of connecting', async () => {
    const { url } = await httpServer('session');
    let status: string | undefined;
    for (let turns = 0; status !== 'ready'; turns += 3) {
      const { servers, health } = startServers({ example: { url } });
      for (let turn = 0; turn < turns; turn += 1) await nextTurn();
      ({ status } = health());
      await servers.close();
    }
  });
});
