import { safeCommand } from './safe-text.ts';

/** A path on one line. A command made up the names: invisible characters are spelt out, line ends too. */
export function shownPath(path: string): string {
  return safeCommand(path).replaceAll('\n', '␊').replaceAll('\t', '␉');
}
