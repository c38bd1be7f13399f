import { describe, expect, test } from 'vitest';
import { program, startServers } from './testing/running-servers.ts';

describe('what a tool returns', () => {
  test('reaches the model as text, in bounded length, and is an error only if the tool or the server says so', async () => {
    const { ready, call } = startServers({ example: program('stdio-server') });
    await ready();
    const output = async (tool: string, args = {}) => (await call(`mcp__example__${tool}`, args)).output;
    expect(await output('add', { a: 1, b: 2 })).toBe('{"sum":3}');
    expect(await output('structured')).toBe('{"answer":42}');
    expect(await output('nothing')).toBe('[the tool returned nothing]');
    expect(await output('show')).toBe(
      [
        'Look:',
        '[image of type image/png, 70 bytes]',
        '[audio of type audio/wav, 3 bytes]',
        '[resource file:///notes.txt of type text/plain]',
        'a note',
        '[resource file:///blob, 6 bytes]',
        '[link to the resource https://example.com/ (a page: to read)]',
      ].join('\n'),
    );
    const big = await output('big', { bytes: 3_000_000 });
    expect(big.length).toBeLessThan(50_100);
    expect(big).toMatch(/^a{25000}\n\[\.\.\. 2950000 of 3000000 bytes left out \.\.\.\]\na+END!$/);

    expect(await call('mcp__example__fail')).toEqual({ output: 'that did not work', isError: true });
    const refused = await call('mcp__example__refuse');
    expect(refused).toEqual({
      output: "The MCP server 'example' did not carry out the call: it answered: no such thing",
      isError: true,
    });
    // It did its work; a result without the promised form is not a failed call.
    expect(await call('mcp__example__wrong_form')).toMatchObject({ isError: false });
  });

  test('ends the server when one message is too large', async () => {
    const { ready, call, health } = startServers({ example: program('stdio-server') });
    await ready();
    const outcome = await call('mcp__example__big', { bytes: 11_000_000 });
    expect(outcome.output).toMatch(/'example' sent a message of more than 10485760 bytes during this call/);
    await ready();
    expect(health().restarts).toBe(1);
  });
});
