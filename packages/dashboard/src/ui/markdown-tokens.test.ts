import { expect, test } from 'vitest';
import { markdownTokens } from './markdown-tokens.ts';

test.each([
  ['quotes in quotes', '>'.repeat(5000)],
  ['quotes with blanks between', '> '.repeat(5000)],
  ['lists in lists', '- '.repeat(5000)],
  ['numbered lists in lists', '1. '.repeat(5000)],
  ['quotes and lists in turn', '> - 1. '.repeat(2000)],
  ['a list that is indented further with each line', indented(200)],
  ['marks of emphasis in a row', '**'.repeat(5000)],
])('%s are not parsed', (_, text) => {
  expect(markdownTokens(`Before\n\n${text}a\n`)).toBeUndefined();
});

test('what people write is parsed', () => {
  const text = `# Title\n\n> a\n> > b\n\n${indented(8)}\n${'-'.repeat(80)}\n\n${'*'.repeat(80)}\n\n***x***\n`;
  expect(markdownTokens(text)?.map(({ type }) => type)).toEqual(
    expect.arrayContaining(['heading', 'blockquote', 'list', 'hr', 'paragraph']),
  );
});

function indented(levels: number): string {
  return Array.from({ length: levels }, (_, level) => `${'  '.repeat(level)}- x\n`).join('');
}
