import fc from 'fast-check';
import { expect, test } from 'vitest';
import { serverOf, toolName } from './tool-names.ts';

test.each([
  ['files', 'read_file', 'mcp__files__read_file'],
  ['a-b_c', 'x', 'mcp__a-b_c__x'],
  ['s', 'a__b', 'mcp__s__a__b'],
  ['files', 'read.file', 'mcp__files__read_file_dd32cdf5'],
  ['files', 'read file', 'mcp__files__read_file_1214148e'],
  ['s', 'ü', 'mcp__s____607474ca'],
])('%s, %s is %s', (server, tool, name) => {
  expect(toolName(server, tool)).toBe(name);
});

const serverName = fc.stringMatching(/^[A-Za-z0-9]{1,10}([_-][A-Za-z0-9]{1,10}){0,2}$/);

test('every name is accepted by providers, names its server, and is not shared by two tools', () => {
  fc.assert(
    fc.property(
      serverName,
      fc.uniqueArray(fc.string({ unit: 'grapheme', maxLength: 90 })),
      (server, tools) => {
        const names = tools.map((tool) => toolName(server, tool));
        for (const name of names) {
          expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
          expect(serverOf(name)).toBe(server);
        }
        expect(new Set(names).size).toBe(tools.length);
      },
    ),
  );
});

test('other names belong to no server', () => {
  for (const name of ['terminal', 'mcp__', 'mcp__x', 'mcp____x', 'xmcp__a__b'])
    expect(serverOf(name)).toBeUndefined();
});
