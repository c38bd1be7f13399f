import { readFileSync } from 'node:fs';
import type { ObjectSchema } from '@talaria/sandbox/tools';
import { expect, test } from 'vitest';
import { createSandboxTools } from './sandbox-tools.ts';
import { todo } from './todo.ts';

const document = readFileSync(new URL('../../../../../docs/tools.md', import.meta.url), 'utf8');
const tools = [...createSandboxTools(() => expect.unreachable('no tool is run'), 300), todo];

/** The argument tables of the page, by the tool whose heading they stand under. */
function documented(): Record<string, string[]> {
  const found: Record<string, string[]> = {};
  for (const section of document.split(/^## /m).slice(1)) {
    const name = /^`(\w+)`/.exec(section)?.[1];
    if (name === undefined) continue;
    found[name] = section
      .split('\n')
      .filter((line) => line.startsWith('| `'))
      .map((line) => line.split('|').slice(1, 4).join('|').replaceAll(/[` ]/g, ''));
  }
  return found;
}

function rowsOf(schema: ObjectSchema, prefix = ''): string[] {
  return Object.entries(schema.properties).flatMap(([name, property]) => [
    `${prefix}${name}|${property.type}|${schema.required.includes(name) ? 'yes' : 'no'}`,
    ...(property.type === 'array' ? rowsOf(property.items, `${prefix}${name}[].`) : []),
  ]);
}

test('docs/tools.md lists exactly the tools there are and their arguments', () => {
  const expected = tools.map(({ definition }) => [
    definition.name,
    rowsOf(definition.parameters as unknown as ObjectSchema),
  ]);
  expect(documented()).toEqual(Object.fromEntries(expected));
  expect(Object.keys(documented())).toEqual(expected.map(([name]) => name));
});

test('every argument is described to the model', () => {
  for (const { definition } of tools) {
    const { properties } = definition.parameters as unknown as ObjectSchema;
    for (const { description } of Object.values(properties)) expect(description).not.toBe('');
  }
});
