/**
 * `Content-Disposition: attachment`, so that a browser saves files that a command wrote and never shows them. The name
 * comes from a command too: it may contain quotes, line ends, or directories (RFC 6266).
 */
export function attachment(name: string): string {
  const plain = name.replace(/[\u0000-\u001f\u007f-\u009f/\\]/g, '_') || '_';
  const ascii = plain.replace(/[^\x20-\x7e]/g, '_').replace(/["%]/g, '_');
  if (ascii === plain) return `attachment; filename="${ascii}"`;
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encode(plain)}`;
}

/** Also encodes the characters that encodeURIComponent leaves but the header does not allow. */
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
