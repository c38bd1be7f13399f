import { describe, expect, test } from 'vitest';
import { ansiPieces } from './ansi.ts';

const textOf = (output: string) =>
  ansiPieces(output)
    .map(({ text }) => text)
    .join('');

describe('the output of a terminal', () => {
  test('keeps its colours', () => {
    expect(ansiPieces('a \u001b[31mred\u001b[0m b')).toEqual([
      { text: 'a ', style: '' },
      { text: 'red', style: 'ansi-red-fg' },
      { text: ' b', style: '' },
    ]);
    expect(ansiPieces('\u001b[1;32mok')).toEqual([{ text: 'ok', style: 'ansi-green-fg ansi-bold' }]);
  });

  test('commands the page to do nothing', () => {
    expect(textOf('\u001b]0;title\u0007a\u001b[2Jb\u001b[10;10Hc\u001b]8;;http://x\u001b\\d\u001b(Be')).toBe(
      'abcde',
    );
    expect(textOf('\u001b]unfinished')).toBe('');
  });

  test('shows of a progress bar what a terminal would show', () => {
    expect(textOf('10 %\r50 %\r100 %\ndone\r\n')).toBe('100 %\ndone\n');
  });

  test('is text, whatever it looks like', () => {
    expect(textOf('<script>alert(1)</script>&amp;')).toBe('<script>alert(1)</script>&amp;');
  });

  test('with more colours than a page can hold is plain', () => {
    const rainbow = '\u001b[31mx\u001b[32my'.repeat(1000);
    expect(ansiPieces(rainbow)).toEqual([{ text: 'xy'.repeat(1000), style: '' }]);
  });
});
