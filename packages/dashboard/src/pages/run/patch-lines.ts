/** The lines of a change to files, as the tool `patch` gets it: a patch over several files, or a text and its successor. */

export interface DiffLine {
  kind: 'file' | 'place' | 'same' | 'added' | 'removed';
  text: string;
  /** Its number in the file before the change, and after it, where they are known. */
  before?: number;
  after?: number;
}

export type Patch = { patch: string } | { path: string; old_string: string; new_string: string };

/** Undefined where the arguments came cut or malformed. */
export function patchOf(args: unknown): Patch | undefined {
  if (typeof args !== 'object' || args === null) return undefined;
  const { patch, path, old_string, new_string } = args as Record<string, unknown>;
  if (typeof patch === 'string') return { patch };
  if (typeof path !== 'string' || typeof old_string !== 'string' || typeof new_string !== 'string')
    return undefined;
  return { path, old_string, new_string };
}

/** The marks of the patch format are its own: `*** Update File: a`, `@@ place`, then lines with a sign each. */
export function patchLines(patch: string): DiffLine[] {
  const lines: DiffLine[] = [];
  for (const line of patch.replace(/\n$/, '').split('\n')) {
    if (/^\*\*\* (Begin|End) (Patch|of File)/.test(line)) continue;
    if (line.startsWith('*** ')) lines.push({ kind: 'file', text: line.slice(4) });
    else if (line.startsWith('@@')) lines.push({ kind: 'place', text: line });
    else if (line.startsWith('+')) lines.push({ kind: 'added', text: line.slice(1) });
    else if (line.startsWith('-')) lines.push({ kind: 'removed', text: line.slice(1) });
    else lines.push({ kind: 'same', text: line.startsWith(' ') ? line.slice(1) : line });
  }
  return lines;
}

export function countLines(lines: readonly DiffLine[]): { added: number; removed: number } {
  const count = (kind: DiffLine['kind']) => lines.filter((line) => line.kind === kind).length;
  return { added: count('added'), removed: count('removed') };
}
