/**
 * A unified diff for a terminal, line by line: colours by what a line is, and no character that could control the
 * terminal. Which lines belong to a hunk follows from the numbers in its header, so that a removed line that begins with
 * `--` is not taken for the head of a file.
 */
import type { Role, Style } from '../../style.ts';
import { safeCommand } from '../../text/safe-text.ts';

const HUNK = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;

export class PatchPainter {
  readonly #style: Style;
  /** Lines of this hunk that are still to come, of the old and of the new file. */
  #old = 0;
  #new = 0;

  constructor(style: Style) {
    this.#style = style;
  }

  /** One line, without its end. */
  paint(line: string): string {
    const role = this.#roleOf(line);
    const text = safeCommand(line);
    return role === undefined ? text : this.#style[role](text);
  }

  #roleOf(line: string): Role | undefined {
    if (this.#old > 0 || this.#new > 0) return this.#inHunk(line[0]);
    const hunk = HUNK.exec(line);
    // The line after a hunk that says that the last one had no end.
    if (hunk === null) return line.startsWith('\\') ? 'faint' : 'strong';
    this.#old = Number(hunk[1] ?? 1);
    this.#new = Number(hunk[2] ?? 1);
    return 'busy';
  }

  #inHunk(mark: string | undefined): Role | undefined {
    if (mark === '\\') return 'faint';
    if (mark !== '+') this.#old--;
    if (mark !== '-') this.#new--;
    if (mark === '+') return 'good';
    return mark === '-' ? 'bad' : undefined;
  }
}
