/**
 * Every position at which a sequence occurs in another, including overlapping ones (Knuth, Morris and Pratt). The time
 * is linear for any input: edits run on the server's thread, and both texts come from a model.
 */
export function occurrences<T>(text: ArrayLike<T>, wanted: ArrayLike<T>, from = 0): number[] {
  if (wanted.length === 0) return [];
  const fallback = fallbacks(wanted);
  const found: number[] = [];
  let matched = 0;
  for (let at = from; at < text.length; at++) {
    while (matched > 0 && text[at] !== wanted[matched]) matched = fallback[matched - 1] as number;
    if (text[at] === wanted[matched]) matched++;
    if (matched === wanted.length) {
      found.push(at - matched + 1);
      matched = fallback[matched - 1] as number;
    }
  }
  return found;
}

/** For each beginning of the sequence, the length of its longest proper beginning that is also its end. */
function fallbacks<T>(wanted: ArrayLike<T>): number[] {
  const lengths = [0];
  for (let at = 1, length = 0; at < wanted.length; at++) {
    while (length > 0 && wanted[at] !== wanted[length]) length = lengths[length - 1] as number;
    if (wanted[at] === wanted[length]) length++;
    lengths.push(length);
  }
  return lengths;
}
