/** Finds the name a user probably meant. */

/**
 * The closest of `names`, or nothing if even the closest is a different word rather than a typo: by default if more than a third
 * of the word differs, which is one typo in a short name and a few in a long one.
 */
function nearest(
  word: string,
  names: Iterable<string>,
  maxTypos = Math.max(1, Math.floor(word.length / 3)),
): string | undefined {
  let best: string | undefined;
  let bestDistance = maxTypos + 1;
  for (const name of names) {
    const distance = editDistance(word.toLowerCase(), name.toLowerCase());
    if (distance < bestDistance) {
      best = name;
      bestDistance = distance;
    }
  }
  return best;
}

/** The suggestion as the end of a message, or nothing. */
export function didYouMean(word: string, names: Iterable<string>): string {
  const meant = meantBy(word, names);
  return meant.length === 0 ? '' : `; did you mean ${meant.join(' or ')}?`;
}

/** More names than this would not help. */
const SUGGESTED_MAX = 3;

/** The names that may be meant. A word that leaves out others at the end of a name may stand for several. */
export function meantBy(word: string, names: Iterable<string>): string[] {
  const all = [...names];
  const typo = nearest(word, all, 1);
  if (typo !== undefined) return [typo];
  const longer = all.filter((name) => name.startsWith(word) && /^[-_]/.test(name.slice(word.length)));
  if (longer.length > 0) return longer.length <= SUGGESTED_MAX ? longer : [];
  const close = nearest(word, all);
  return close === undefined ? [] : [close];
}

/** Insertions, deletions, substitutions and swaps of neighbours between two words; one row at a time. */
function editDistance(a: string, b: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const substitution = previous[column - 1]! + (a[row - 1] === b[column - 1] ? 0 : 1);
      let cost = Math.min(substitution, previous[column]! + 1, current[column - 1]! + 1);
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
        cost = Math.min(cost, beforePrevious[column - 2]! + 1);
      }
      current.push(cost);
    }
    beforePrevious = previous;
    previous = current;
  }
  return previous[b.length]!;
}
