/** Contents as lines. The text has one character per byte (latin1), so no byte is lost, whatever its encoding. */
import type { NumberedLines } from './compare-lines.ts';

export interface TextLines {
  text: string;
  /** Where each line begins, and at last where the text ends. A line ends with its newline, if it has one. */
  starts: number[];
}

export function toLines(text: string): TextLines {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  if (starts.at(-1) !== text.length) starts.push(text.length);
  return { text, starts };
}

export function lineCount({ starts }: TextLines): number {
  return starts.length - 1;
}

export function lineAt({ text, starts }: TextLines, index: number): string {
  return text.slice(starts[index], starts[index + 1]);
}

/** The same line has the same number in both. A last line without a newline differs from one with it. */
export function numberLines(before: TextLines, after: TextLines): [NumberedLines, NumberedLines] {
  const numbers = new Map<string, number>();
  const numbered = (lines: TextLines): NumberedLines =>
    Int32Array.from({ length: lineCount(lines) }, (_, index) => {
      const line = lineAt(lines, index);
      const number = numbers.get(line) ?? numbers.size;
      numbers.set(line, number);
      return number;
    });
  return [numbered(before), numbered(after)];
}
