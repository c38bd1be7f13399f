/** Paths that are not taken along, a line for each reason: `Left out (not readable): a, b, c and 3 more`. */
import { shownPath } from '../text/shown-path.ts';

export interface NotTaken {
  readonly path: string;
  readonly reason: string;
}

const SHOWN_MAX = 3;

export function leftOutLines(all: readonly NotTaken[]): string[] {
  return [...Map.groupBy(all, ({ reason }) => reason)].map(([reason, list]) => {
    const shown = list.slice(0, SHOWN_MAX).map(({ path }) => shownPath(path));
    const more = list.length > SHOWN_MAX ? ` and ${list.length - SHOWN_MAX} more` : '';
    return `Left out (${reason}): ${shown.join(', ')}${more}`;
  });
}
