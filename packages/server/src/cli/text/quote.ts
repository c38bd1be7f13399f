/**
 * Foreign text that is shown completely: each row of it is behind a bar, also wrapped ones, so that nothing in it can
 * look like output of this program.
 */
import type { Style } from '../style.ts';
import { safeCommand } from './safe-text.ts';
import { wrapHard } from './width.ts';

const GUTTER = '  │ ';

export function quote(text: string, columns: number, style: Style): string[] {
  const rows = safeCommand(text)
    .split('\n')
    .flatMap((line) => wrapHard(line, columns - GUTTER.length));
  return rows.map((row) => `${style.careful(GUTTER)}${row}`);
}
