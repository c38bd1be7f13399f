import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { listen } from '../../../../test/support/mcp/http-server.ts';
import { waitFor } from '../../../../test/support/wait-for.ts';
import { httpServer, linesOf, program, startServers, temporaryDirectory } from './testing/running-servers.ts';

describe('a server that dies', () => {
  test('in the middle of a call: the outcome is unknown, it is restarted, the next call works', async () => {
    const file = join(temporaryDirectory(), 'file');
    const { ready, failed, call, servers } = startServers({ example: program('stdio-server') });
    const { tools } = await ready();
    const pid = Number((await call(tools.find((name) => name.includes('who_am_i'))!)).output);
    const waiting = call('mcp__example__wait', { file });
    await waitFor('the call to begin', () => linesOf(file).includes('begun'));
    process.kill(pid, 'SIGKILL');
    expect(await waiting).toEqual({
      output:
        "The MCP server 'example' was ended by SIGKILL during this call, so its outcome is unknown. It may have done all, part or nothing of its work. Check the state before you repeat it.",
      isError: true,
    });
    const { reason } = await failed();
    expect(reason).toBe('was ended by SIGKILL');
    expect(servers.list()).toEqual([]);
    await expect(call('mcp__example__echo')).rejects.toThrow(
      "The MCP server 'example' is not available: it was ended by SIGKILL. It is being connected again; try again later",
    );
    const again = await ready();
    expect(again).toMatchObject({ restarts: 1, tools });
    expect((await call('mcp__example__echo', { text: 'back' })).output).toBe('back');
    expect(linesOf(file)).toEqual(['begun']);
  });

  test('with an exit code: its error output is the reason', async () => {
    const { ready, call } = startServers({ example: program('stdio-server') });
    await ready();
    expect((await call('mcp__example__exit', { code: 7 })).output).toContain(
      "'example' ended with exit code 7: Error: I was told to during this call",
    );
  });

  test('over and over: it is restarted with growing pauses, not in a loop', async () => {
    const { failed, health } = startServers({ brief: program('broken-server', 'brief') });
    await waitFor('two restarts', () => health().restarts >= 2);
    expect((await failed()).reason).toBe('ended with exit code 0');
  });

  const diesInACall = async (kind: 'session' | 'stateless') => {
    const file = join(temporaryDirectory(), 'file');
    const start = async (port = 0) => {
      const { command, args } = program('http-server', kind, String(port));
      const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
      onTestFinished(() => void child.kill('SIGKILL'));
      const [line] = (await once(child.stdout, 'data')) as [Buffer];
      return { child, url: line.toString().trim() };
    };
    const first = await start();
    const { ready, health, call } = startServers({ example: { url: first.url } });
    await ready();
    const waiting = call('mcp__example__wait', { file });
    await waitFor('the call to begin', () => linesOf(file).includes('begun'));
    first.child.kill('SIGKILL');
    expect((await waiting).output).toMatch(
      /'example' (broke off its answer|closed the connection \(ECONNRESET\)|refuses connections \(ECONNREFUSED\)) during this call, so its outcome is unknown/,
    );
    await waitFor('its absence to be known', () => health().reason === 'refuses connections (ECONNREFUSED)');
    await start(Number(new URL(first.url).port));
    await ready();
    expect((await call('mcp__example__echo', { text: 'back' })).output).toBe('back');
  };

  test('over HTTP in the middle of a call', () => diesInACall('session'));

  test('over HTTP without sessions in the middle of a call', { tags: ['soak'] }, () =>
    diesInACall('stateless'),
  );

  test('over HTTP and is back before anyone noticed: the call did not happen, and a new session begins', async () => {
    const server = await httpServer('session');
    const { ready, call } = startServers({ example: { url: server.url } });
    await ready();
    server.forgetSessions();
    const { output } = await call('mcp__example__echo', { text: 'lost' });
    expect(output).toMatch(/^The call did not reach the MCP server\. .*HTTP 404/);
    await waitFor('a new session', async () => {
      await ready();
      return (
        (await call('mcp__example__echo', { text: 'found' }).catch(() => ({ output: '' }))).output === 'found'
      );
    });
  });
});

test.each<[string, string, (response: ServerResponse, id: number) => void]>([
  [
    'a gateway that gives up leaves the outcome unknown',
    "The MCP server 'example' answers HTTP 502 Bad Gateway: try later during this call, so its outcome is unknown.",
    (response) => response.writeHead(502).end('try later'),
  ],
  [
    'an answer that is no result of a tool does too',
    "The MCP server 'example' answers with something that MCP does not allow there during this call",
    (response, id) => answer(response, id, { content: 'not a list' }),
  ],
  [
    'a request that is refused was not carried out',
    "The MCP server 'example' did not carry out the call: it answers HTTP 403 Forbidden",
    (response) => response.writeHead(403).end(),
  ],
])('%s', async (_what, words, respond) => {
  const server = await listen(async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const { id, method } = JSON.parse(body === '' ? '{}' : body) as { id: number; method: string };
    const capabilities = { tools: {} };
    const serverInfo = { name: 'x', version: '1' };
    if (method === 'initialize')
      answer(response, id, { protocolVersion: '2025-06-18', capabilities, serverInfo });
    else if (method === 'tools/list')
      answer(response, id, { tools: [{ name: 'x', inputSchema: { type: 'object' } }] });
    else if (method === 'tools/call') respond(response, id);
    else if (request.method === 'POST') response.writeHead(id === undefined ? 202 : 400).end();
    else response.writeHead(405).end();
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const { ready, call } = startServers({ example: { url: server.url } });
  await ready();
  const outcome = await call('mcp__example__x');
  expect(outcome.isError).toBe(true);
  expect(outcome.output).toContain(words);
  expect((await ready()).restarts).toBe(0);
});

function answer(response: ServerResponse, id: number, result: object): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
}

test('a server that does not answer any more after a timeout is restarted', async () => {
  const entry = { ...program('stdio-server'), timeout_seconds: 3, connect_timeout_seconds: 3 };
  const { ready, call, health } = startServers({ example: entry });
  const { tools } = await ready();
  const pid = Number((await call(tools.find((name) => name.includes('who_am_i'))!)).output);
  process.kill(pid, 'SIGSTOP');
  expect((await call('mcp__example__echo', { text: 'x' })).output).toMatch(/no answer within 3 s/);
  await waitFor('a restart', () => health().restarts >= 1);
  await ready();
  expect((await call('mcp__example__echo', { text: 'back' })).output).toBe('back');
});

describe('a server that never gets ready', () => {
  test.each<[string, Record<string, unknown>, RegExp]>([
    [
      'is silent',
      { ...program('broken-server', 'silent'), connect_timeout_seconds: 0.5005 },
      /^did not complete the handshake within 0\.5005 s$/,
    ],
    [
      'prints garbage',
      { ...program('broken-server', 'garbage'), connect_timeout_seconds: 1 },
      /^did not complete the handshake within 1 s, and prints text that is not an MCP message: "Welcome! "$/,
    ],
    [
      'ends',
      program('broken-server', 'exit', 'x'),
      /^ended with exit code 3: Error: the token x is not valid$/,
    ],
    [
      'never ends a message',
      program('broken-server', 'endless'),
      /^sent a message of more than 10485760 bytes$/,
    ],
    [
      'is not there',
      { command: 'no-such-program' },
      /^could not be started: the program no-such-program was not found$/,
    ],
    [
      'is not at its path',
      { command: '/no/such/program' },
      /^could not be started: the program \/no\/such\/program was not found$/,
    ],
    [
      'has no directory',
      { command: 'sh', cwd: '/no/such/dir' },
      /its working directory \/no\/such\/dir does not/,
    ],
    ['does not listen', { url: 'http://127.0.0.1:1/mcp' }, /^refuses connections \(ECONNREFUSED\)$/],
    [
      'has no address',
      { url: 'http://no-such-host.invalid/mcp' },
      /has a host name that (is not known|cannot)/,
    ],
  ])('because it %s', async (_why, entry, reason) => {
    const { health, servers, call, logged } = startServers({ example: entry });
    await waitFor('the reason', () => reason.test(health().reason ?? ''));
    expect(logged()).toContain('MCP server not available; trying again');
    expect(servers.list()).toEqual([]);
    await expect(call('mcp__example__only')).rejects.toThrow(/is not available: it .*continue without it/);
  });

  test('because it wants a key: the reason says so, without the given key', async () => {
    const server = await listen((request, response) => {
      response.writeHead(401).end(`the key ${request.headers.authorization} is wrong`);
    });
    onTestFinished(() => server[Symbol.asyncDispose]());
    const { failed, logged } = startServers({
      example: { url: server.url, headers: { Authorization: 'Bearer s3cret-token-1' } },
    });
    const { reason } = await failed();
    expect(reason).toMatch(/^answers HTTP 401 Unauthorized: the key \[redacted\] is wrong$/);
    expect(logged()).not.toContain('s3cret');
  });

  test('because its answer is too large', async () => {
    const server = await listen((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const piece = Buffer.alloc(1_000_000, 0x20);
      const more = () => void response.write(piece, () => response.destroyed || more());
      more();
    });
    onTestFinished(() => server[Symbol.asyncDispose]());
    const { failed } = startServers({ example: { url: server.url } });
    expect((await failed()).reason).toMatch(/the answer has more than 10485760 bytes/);
  });

  test.each(['[1,2,"x",null]', 'null', '{"jsonrpc":"2.0"', ''])('because it answers %j', async (body) => {
    const server = await listen((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(body);
    });
    onTestFinished(() => server[Symbol.asyncDispose]());
    const { failed } = startServers({ example: { url: server.url } });
    expect((await failed()).reason).toBe('answers with something that MCP does not allow there');
  });

  test('does not delay the others, nor those who wait for the first attempts', async () => {
    const { ready, servers } = startServers({
      silent: program('broken-server', 'silent'),
      good: program('broken-server', 'greeting'),
    });
    await ready('good');
    await servers.tried();
    expect(servers.health().map(({ status }) => status)).toEqual(['connecting', 'ready']);
    expect(servers.list().map(({ definition }) => definition.name)).toEqual(['mcp__good__only']);
    expect(servers.whyMissing('mcp__silent__x')).toMatch(/'silent' is being connected; try again later/);
    expect(servers.whyMissing('mcp__other__x')).toBeUndefined();
    expect(servers.whyMissing('terminal')).toBeUndefined();
  });
});
