/**
 * Names and modes as git writes them in a patch. A name has one character per byte. Names with unusual characters are quoted as in
 * C, all bytes beyond ASCII included (`core.quotePath`), so a patch is plain text whatever the names are.
 */
import type { CheckpointEntry } from '../checkpoints/checkpoint-tree.ts';

const ESCAPES: Record<string, string> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\t': '\\t',
  '\n': '\\n',
  '\v': '\\v',
  '\f': '\\f',
  '\r': '\\r',
  '"': '\\"',
  '\\': '\\\\',
};
const UNUSUAL = /[\x00-\x1f"\\\x7f-\xff]/g;

export function quoteName(name: string): string {
  const quoted = name.replace(
    UNUSUAL,
    (byte) => ESCAPES[byte] ?? `\\${byte.charCodeAt(0).toString(8).padStart(3, '0')}`,
  );
  return quoted === name ? name : `"${quoted}"`;
}

/** Between other names: git finds out by itself where a name with spaces ends, `patch` does not. */
export function quoteSpaces(name: string): string {
  const quoted = quoteName(name);
  return quoted === name && name.includes(' ') ? `"${name}"` : quoted;
}

/** In a line that ends with the name, a tab says where a name with spaces ends. */
export function lastName(name: string): string {
  const quoted = quoteName(name);
  return quoted === name && name.includes(' ') ? `${name}\t` : quoted;
}

export type GitMode = '100644' | '100755' | '120000';

/** All that git keeps of permissions is whether the owner may execute the file. */
export function gitMode({ type, mode }: CheckpointEntry): GitMode {
  if (type === 'symlink') return '120000';
  return (mode & 0o100) === 0 ? '100644' : '100755';
}
