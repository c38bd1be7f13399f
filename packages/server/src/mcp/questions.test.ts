/** A server that asks a person during a call, in either revision of the protocol. */
import { describe, expect, test } from 'vitest';
import { bareModernServer, httpServer, program, startServers } from './testing/running-servers.ts';

const DECLINED = 'Talaria declined, because nobody can be asked during a call';

describe.each<[string, () => Promise<Record<string, unknown>>]>([
  ['a child process', async () => program('stdio-server')],
  ['HTTP with sessions', async () => ({ url: (await httpServer('session')).url })],
])('over %s', (_way, entry) => {
  test('the server is told that nobody answers, and the model what was asked', async () => {
    const { ready, call } = startServers({ example: await entry() });
    await ready();
    const { output, isError } = await call('mcp__example__ask', { message: 'Which city?' });
    expect(isError).toBe(false);
    const [answer, note] = output.split('\n');
    expect(answer).toMatch(/^no answer: /);
    expect(answer).toContain(DECLINED);
    expect(note).toBe(`[During this call the MCP server asked a person: "Which city?". ${DECLINED}.]`);
    expect((await call('mcp__example__echo', { text: 'on' })).output).toBe('on');
  });
});

test('in the newer protocol a result that asks a person is no unknown outcome: the model learns what was asked', async () => {
  const question = { method: 'elicitation/create', params: { mode: 'form', message: 'Which city?' } };
  const { url } = await bareModernServer({
    'tools/call': () => ({
      resultType: 'input_required',
      inputRequests: { city: question },
      requestState: 'half',
    }),
  });
  const { ready, call } = startServers({ example: { url } });
  await ready();
  expect(await call('mcp__example__x')).toEqual({
    output: `The MCP server 'example' did not carry out the call: it asks a person: "Which city?". ${DECLINED}.`,
    isError: true,
  });
});

test('in the newer protocol a server that only wants to be called again is called again, with its state', async () => {
  const { url } = await bareModernServer({
    'tools/call': ({ requestState }) =>
      requestState === 'half'
        ? { content: [{ type: 'text', text: 'whole' }] }
        : { resultType: 'input_required', requestState: 'half' },
  });
  const { ready, call } = startServers({ example: { url } });
  await ready();
  expect(await call('mcp__example__x')).toEqual({ output: 'whole', isError: false });
});
