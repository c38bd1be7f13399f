/**
 * Foreign text (from a model, a tool, a file name, a server's error) in a form that is safe to show on a terminal.
 *
 * - No character of it can control the terminal: control characters, above all the escape character, are shown as
 *   pictures (U+241B for escape), so nothing moves the cursor, sets a title or reads the clipboard.
 * - No character of it can change the order in which others are shown, so a command reads as it will run.
 * - Line feeds and tabs stay where they are meant to.
 * - A server may send something else instead of text: that is shown as JSON.
 */

/**
 * C0, delete, C1; the separators of lines and paragraphs, at which some terminals and most log readers begin a line;
 * and the characters that embed, override or isolate a writing direction, switch how others are shown, or annotate
 * them.
 */
const UNSAFE = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u206f\ufff9-\ufffb]/g;

const UNSAFE_BEYOND_C0 = /[\x7f-\x9f\u2028-\u202e\u2066-\u206f\ufff9-\ufffb]/g;

/** In addition: everything invisible, with which a command can look like another. */
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu;

/** Running text: what a model says. */
export function safeText(text: string): string {
  return asText(text).replaceAll('\r', '').replace(UNSAFE, picture);
}

/** A command that is going to run, with every character visible; its line breaks stay. */
export function safeCommand(text: string): string {
  return asText(text).replace(UNSAFE, picture).replace(INVISIBLE, codePoint);
}

/** Running text as one line: every kind of white space becomes a blank. */
export function safeLine(text: string): string {
  return oneLine(text).replace(UNSAFE, picture);
}

/** A command that is going to run, as one line. */
export function safeCommandLine(text: string): string {
  return safeCommand(oneLine(text));
}

/** JSON as it may be printed on a terminal: still the same JSON. Its writer has escaped everything below a blank. */
export function safeJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(UNSAFE_BEYOND_C0, jsonEscape);
}

function asText(text: unknown): string {
  return typeof text === 'string' ? text : (JSON.stringify(text) ?? '');
}

function oneLine(text: string): string {
  return asText(text).replace(/\s+/g, ' ').trim();
}

function picture(character: string): string {
  const code = character.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? '\u2421' : codePoint(character);
}

/** `<U+202E>` */
function codePoint(character: string): string {
  return `<U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}>`;
}

function jsonEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
