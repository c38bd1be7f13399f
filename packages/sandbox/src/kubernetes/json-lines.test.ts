import { expect, test } from 'vitest';
import { jsonLines } from './json-lines.ts';

async function* cut(text: string, size: number) {
  for (let start = 0; start < text.length; start += size) yield Buffer.from(text.slice(start, start + size));
}

test('values arrive whole, however their bytes were cut', async () => {
  const values = [{ type: 'ADDED' }, { type: 'DELETED', object: { metadata: { name: 'x'.repeat(100) } } }, 3];
  const text = `${values.map((value) => JSON.stringify(value)).join('\n')}\n\n`;
  for (const size of [1, 7, 1000]) {
    const read: unknown[] = [];
    for await (const value of jsonLines(cut(text, size))) read.push(value);
    expect(read).toEqual(values);
  }
});
