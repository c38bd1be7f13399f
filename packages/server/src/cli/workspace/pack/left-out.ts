/** What of a directory does not go along, and why: nothing is left out without a word, except by a rule of the user. */
import { shownPath } from '../../text/shown-path.ts';
import { type RawPath, textOf } from './raw-path.ts';

const REASONS = {
  special: 'neither a file nor a link',
  unreadable: 'not readable',
  leads_out: 'a link that leads out of the directory',
  too_deep: 'too deep or too long a path',
} as const;

export type Reason = keyof typeof REASONS;

export interface LeftOut {
  readonly path: RawPath;
  readonly reason: Reason;
}

const SHOWN_MAX = 3;

/** `Left out (not readable): a, b and 3 more`; one line for each reason. */
export function leftOutLines(all: readonly LeftOut[]): string[] {
  return Object.entries(REASONS).flatMap(([reason, means]) => {
    const paths = all.filter((each) => each.reason === reason).map(({ path }) => textOf(path));
    if (paths.length === 0) return [];
    const shown = paths.slice(0, SHOWN_MAX).map(shownPath).join(', ');
    const more = paths.length > SHOWN_MAX ? ` and ${paths.length - SHOWN_MAX} more` : '';
    return [`Left out (${means}): ${shown}${more}`];
  });
}
