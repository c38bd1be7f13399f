/**
 * A text as lines that remember how they ended, so that an edit changes only the lines it names. A text counts as CRLF
 * only if every line ends with it; otherwise a carriage return is an ordinary character.
 */
interface TextLines {
  lines: string[];
  eol: '\n' | '\r\n';
  endsWithEol: boolean;
}

export function splitLines(text: string): TextLines {
  const eol = usesCrLf(text) ? '\r\n' : '\n';
  const lines = text.split(eol);
  const endsWithEol = lines.at(-1) === '';
  if (endsWithEol) lines.pop();
  return { lines, eol, endsWithEol };
}

export function joinLines({ lines, eol, endsWithEol }: TextLines): string {
  if (lines.length === 0) return '';
  return lines.join(eol) + (endsWithEol ? eol : '');
}

export function usesCrLf(text: string): boolean {
  return text.includes('\r\n') && !/(?:^|[^\r])\n/.test(text);
}

/** The line numbers, from 1, of these character positions, which must be ascending. */
export function lineNumbers(text: string, indexes: readonly number[]): number[] {
  let line = 1;
  let newline = text.indexOf('\n');
  return indexes.map((index) => {
    for (; newline !== -1 && newline < index; newline = text.indexOf('\n', newline + 1)) line++;
    return line;
  });
}
