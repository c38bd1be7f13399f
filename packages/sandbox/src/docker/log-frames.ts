/**
 * The output of a container, as readable text. Docker sends it in blocks: one byte for the stream, three empty, four for
 * the length, then that many bytes.
 */
const HEADER_BYTES = 8;
const MAX_LENGTH = 4_000;

export function plainLog(bytes: Buffer): string {
  const parts: Buffer[] = [];
  for (let at = 0; at + HEADER_BYTES <= bytes.length; ) {
    const start = at + HEADER_BYTES;
    at = start + bytes.readUInt32BE(at + 4);
    parts.push(bytes.subarray(start, at));
  }
  const text = Buffer.concat(parts).toString('utf8');
  // It ends up in messages and logs, which a terminal may interpret.
  return text
    .replace(/[\x00-\x08\x0b-\x1f\x7f]/g, '')
    .trim()
    .slice(-MAX_LENGTH);
}
