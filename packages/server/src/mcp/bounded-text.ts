/** Shortens a long text to its start and its end, with its total size. */

export function boundText(text: string, limitBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= limitBytes) return text;
  const head = startOfCharacter(bytes, Math.ceil(limitBytes / 2));
  const tail = startOfCharacter(bytes, bytes.length - Math.floor(limitBytes / 2), 1);
  const leftOut = tail - head;
  return [
    bytes.toString('utf8', 0, head),
    `[... ${leftOut} of ${bytes.length} bytes left out ...]`,
    bytes.toString('utf8', tail),
  ].join('\n');
}

/** The nearest position before (or after) `at` that cuts no character. */
function startOfCharacter(bytes: Buffer, at: number, step: 1 | -1 = -1): number {
  let place = at;
  while (((bytes[place] ?? 0) & 0xc0) === 0x80) place += step;
  return place;
}
