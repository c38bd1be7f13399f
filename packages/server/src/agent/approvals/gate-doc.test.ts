import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { classifyCommand, PATTERN_KEYS } from './matcher/classify.ts';

const document = readFileSync(new URL('../../../../../PROTOCOL.md', import.meta.url), 'utf8');
const [, table = ''] = /<!-- families:begin -->\n([\s\S]*)<!-- families:end -->/.exec(document) ?? [];
const rows = [...table.matchAll(/^\| (.+?) \| (.+) \|$/gm)]
  .map(([, key = '', example = '']) => ({ key, example }))
  .slice(1);

it('PROTOCOL.md lists exactly the families there are, in their order', () => {
  expect(rows.map(({ key }) => key)).toEqual(PATTERN_KEYS);
});

it.each(rows.filter(({ example }) => example.startsWith('`')))(
  '$example asks as $key',
  ({ key, example }) => {
    const command = example.slice(1, -1).replaceAll('\\|', '|');
    expect(classifyCommand(command)).toMatchObject({ kind: 'ask', keys: expect.arrayContaining([key]) });
  },
);
