import { expect, test } from 'vitest';
import { terminalSvg } from '../../docs/recording/terminal-svg.ts';

const draw = (text: string, at = 0) => terminalSvg('a <title>', [{ title: 'one', lines: [{ at, text }] }]);
const linesOf = (svg: string) =>
  [...svg.matchAll(/<text class="line[^>]*>([^<]*)</g)].map(([, text]) => text);

test('a line appears at its time', () => {
  expect(draw('hello', 1.25)).toContain('style="animation-delay:1.25s">hello</text>');
});

test('text cannot become markup', () => {
  const svg = draw('a && b > c < d');
  expect(linesOf(svg)).toEqual(['a &amp;&amp; b &gt; c &lt; d']);
  expect(svg).toContain('<title>a &lt;title&gt;</title>');
});

test('long lines break between words and keep their indent', () => {
  const [first, second] = linesOf(draw(`    ${'word '.repeat(20).trim()}`));
  expect(first!.length).toBeLessThanOrEqual(92);
  expect(second).toMatch(/^ {4}word/);
});

test('windows stand below each other', () => {
  const svg = terminalSvg('', [
    { title: 'one', lines: [{ at: 0, text: 'a' }] },
    { title: 'two', lines: [] },
  ]);
  const [, firstHeight] = /<rect y="0" width="\d+" height="(\d+)"/.exec(svg)!;
  const [, secondTop] = /<rect y="([1-9]\d*)"/.exec(svg)!;
  expect(Number(secondTop)).toBeGreaterThan(Number(firstHeight));
});
