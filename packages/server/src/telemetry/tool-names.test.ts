import { expect, test } from 'vitest';
import { createToolNames } from './tool-names.ts';

const further: string[] = [];
const names = createToolNames(['terminal'], () => further);

test('only existing tools have a name', () => {
  expect([names.label('terminal'), names.name('terminal')]).toEqual(['terminal', 'terminal']);
  expect([names.label('mcp__web__get'), names.name('mcp__web__get')]).toEqual(['other', 'other']);
  expect([names.label('sk-secret "}\n'), names.name('sk-secret "}\n')]).toEqual(['other', 'other']);
  further.push('mcp__web__get');
  expect([names.label('mcp__web__get'), names.name('mcp__web__get')]).toEqual(['mcp', 'mcp__web__get']);
});
