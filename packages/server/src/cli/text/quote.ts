/**
 * Text from elsewhere that is shown in full: each row of it stands behind a line, also those that are wrapped, so that
 * nothing in it can look like something this program says.
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
