import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Block, TextBlocks } from './text-blocks.ts';

function cut(...pieces: string[]): Block[] {
  const blocks = new TextBlocks();
  for (const piece of pieces) blocks.append(piece);
  blocks.end();
  return blocks.blocks;
}

const texts = (blocks: Block[]) => blocks.map(({ kind, text }) => `${kind}: ${text.trimEnd()}`);

describe('blocks of streamed Markdown', () => {
  test('end at empty lines and at fences', () => {
    const blocks = cut('# Title\n\nSome\nwords\n```js\nlet a;\n\nlet b;\n```\nafter\n');
    expect(texts(blocks)).toEqual([
      'markdown: # Title',
      'markdown: Some\nwords',
      'code: let a;\n\nlet b;',
      'markdown: after',
    ]);
    expect(blocks[2]?.language).toBe('js');
  });

  test('keep what is indented after an empty line, which may belong to a list', () => {
    expect(texts(cut('1. one\n\n   more of one\n\n2. two\n'))).toEqual([
      'markdown: 1. one\n\n   more of one',
      'markdown: 2. two',
    ]);
  });

  test('a fence is closed by one of its kind that is as long', () => {
    expect(texts(cut('~~~~\n~~~\n```\n~~~~\nend'))).toEqual(['code: ~~~\n```', 'markdown: end']);
    expect(texts(cut('```not code``` here\n'))).toEqual(['markdown: ```not code``` here']);
  });

  test('the line that is being written is shown, but apart from whole lines', () => {
    const blocks = new TextBlocks();
    blocks.append('one\ntw');
    expect(blocks.blocks).toEqual([
      { kind: 'markdown', language: '', text: 'one\n', unfinished: 'tw', open: true },
    ]);
  });

  test('very long code is cut, and stays code', () => {
    const lines = Array.from({ length: 1000 }, (_, i) => `line ${i}\n`).join('');
    const blocks = cut(`\`\`\`py\n${lines}\`\`\`\nafter`);
    expect(blocks.map(({ kind, language }) => kind + language)).toEqual([
      'codepy',
      'codepy',
      'codepy',
      'markdown',
    ]);
    expect(
      blocks
        .slice(0, 3)
        .map(({ text }) => text)
        .join(''),
    ).toBe(lines);
  });

  test('are the same however the text was cut', () => {
    const line = fc.constantFrom(
      'word',
      '',
      ' - x',
      '```',
      '```js',
      '~~~',
      '    code',
      '- item',
      'a b',
      '\r',
      '| a |',
    );
    const text = fc.array(line, { maxLength: 30 }).map((lines) => lines.join('\n'));
    fc.assert(
      fc.property(text, fc.array(fc.nat(200)), (whole, places) => {
        const at = [...new Set([0, ...places.map((place) => place % (whole.length + 1)), whole.length])];
        at.sort((a, b) => a - b);
        const pieces = at.slice(1).map((end, index) => whole.slice(at[index], end));
        expect(cut(...pieces)).toEqual(cut(whole));
      }),
    );
  });
});
