/**
 * Which bytes of a file a request asks for, and of which version (RFC 9110, sections 13 and 14).
 *
 * One range is served. A request for several gets the whole file, which the standard allows and every client has to
 * accept: a multipart response is more trouble than the second request it saves.
 */
export interface ByteRange {
  start: number;
  /** Exclusive. */
  end: number;
}

export function parseRange(header: string | undefined, size: number): ByteRange | 'whole' | 'unsatisfiable' {
  // An unknown unit must be ignored.
  if (header === undefined || !/^bytes=/i.test(header)) return 'whole';
  const ranges = header.slice('bytes='.length).split(',');
  if (ranges.length > 1) return 'whole';
  const [, first = '', last = ''] = /^\s*(\d*)\s*-\s*(\d*)\s*$/.exec(ranges[0] ?? '') ?? [];
  if (first === '' && last === '') return 'unsatisfiable';
  const range =
    first === ''
      ? { start: Math.max(0, size - Number(last)), end: size }
      : { start: Number(first), end: last === '' ? size : Math.min(size, Number(last) + 1) };
  const isBackwards = first !== '' && last !== '' && Number(last) < Number(first);
  return isBackwards || range.start >= range.end ? 'unsatisfiable' : range;
}

/** Whether the client already has this version. */
export function matchesTag(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  return ifNoneMatch.split(',').some((given) => given.trim().replace(/^W\//, '') === tag);
}

/** The digests that a condition of a write names; a weak tag, or one of another form, matches nothing. */
export function parseTags(condition: string | undefined): readonly string[] | '*' | undefined {
  if (condition === undefined) return undefined;
  if (condition.trim() === '*') return '*';
  return [...condition.matchAll(/(W\/)?"([^"]*)"/g)].flatMap(([, weak, tag]) =>
    weak === undefined && tag !== undefined ? [tag] : [],
  );
}

/** A part is useful only to a client that has the rest of the same version. A date is never precise enough. */
export function mayServeRange(ifRange: string | undefined, tag: string): boolean {
  return ifRange === undefined || ifRange.trim() === tag;
}
