/**
 * Backslash escapes of `$'…'`, `echo -e` and `printf`, in one decoder. The three differ only in details
 * (octal with or without a leading 0), and accepting both spellings is safe for a gate.
 */
const SIMPLE: Record<string, string> = {
  a: '\x07',
  b: '\b',
  e: '\x1b',
  E: '\x1b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  "'": "'",
  '"': '"',
  '?': '?',
};
const ESCAPE =
  /\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|c([\s\S])|(0?[0-7]{1,3})|([\s\S]))/g;

export function decodeEscapes(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(ESCAPE, (whole, hex, u4, u8, control, octal, other) => {
    if (control !== undefined) return character(String(control).charCodeAt(0) & 0x1f);
    if (octal !== undefined) return character(Number.parseInt(octal, 8) & 0xff);
    const digits = hex ?? u4 ?? u8;
    if (digits !== undefined) return character(Number.parseInt(digits, 16));
    return SIMPLE[other] ?? whole;
  });
}

/** NUL ends a shell string, and private-use marks must not be forgeable through an escape. */
function character(code: number): string {
  if (code === 0 || code > 0x10ffff) return '';
  if (code >= 0xe000 && code <= 0xe01f) return '\uFFFD';
  return String.fromCodePoint(code);
}
