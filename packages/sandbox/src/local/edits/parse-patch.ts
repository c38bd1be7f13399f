/**
 * The patch format for several files:
 *
 *   *** Begin Patch
 *   *** Add File: <path>          every line starts with +
 *   *** Delete File: <path>
 *   *** Update File: <path>
 *   *** Move to: <path>           optional
 *   @@ <a line of the file>       optional: the change comes after this line; several narrow it down
 *    a line that stays
 *   -a line that goes
 *   +a line that comes
 *   *** End of File               optional: the change is at the end
 *   *** End Patch
 *
 * For any text, `parsePatch` returns the changes or throws `PatchFormatError`. Line numbers of a unified diff (`@@ -1,2
 * +1,3 @@`) are ignored: models count badly, and the lines themselves say where.
 */
export interface HunkLine {
  kind: 'keep' | 'remove' | 'add';
  text: string;
}

export interface Hunk {
  anchors: string[];
  lines: HunkLine[];
  atEnd: boolean;
}

export type FilePatch =
  | { kind: 'add'; path: string; content: string }
  | { kind: 'delete'; path: string }
  | { kind: 'update'; path: string; moveTo: string | undefined; hunks: Hunk[] };

export class PatchFormatError extends Error {
  override readonly name = 'PatchFormatError';
}

const BEGIN = '*** Begin Patch';
const END = '*** End Patch';
const END_OF_FILE = '*** End of File';
const FILE_HEADER = /^\*\*\* (Add|Delete|Update) File: *(.*)$/;
const MOVE_HEADER = /^\*\*\* Move to: *(.*)$/;
const DIFF_RANGE = /^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@/;
const KINDS: Record<string, HunkLine['kind']> = { ' ': 'keep', '-': 'remove', '+': 'add' };
const HUNK_HELP =
  "a line of a hunk starts with ' ' (stays), '-' (goes) or '+' (comes); a hunk may start with '@@'";

export function parsePatch(text: string): FilePatch[] {
  const reader = new LineReader(text);
  reader.skipBlank();
  if (reader.next()?.trimEnd() !== BEGIN) {
    throw new PatchFormatError(`The patch should start with the line '${BEGIN}'.`);
  }
  const files: FilePatch[] = [];
  for (;;) {
    reader.skipBlank();
    const line = reader.next();
    if (line === undefined) throw new PatchFormatError(`The patch should end with the line '${END}'.`);
    if (line.trimEnd() === END) break;
    files.push(parseFile(line, reader));
  }
  reader.skipBlank();
  if (reader.peek() !== undefined) throw reader.wrong(`there is text after '${END}'`, 1);
  if (files.length === 0) throw new PatchFormatError('The patch changes no file.');
  return files;
}

function parseFile(header: string, reader: LineReader): FilePatch {
  const [, kind, rest] = FILE_HEADER.exec(header) ?? [];
  if (kind === undefined) {
    throw reader.wrong("expected '*** Add File: ', '*** Update File: ' or '*** Delete File: ' and a path");
  }
  const path = (rest as string).trim();
  if (path === '') throw reader.wrong('the path is missing');
  if (kind === 'Delete') return { kind: 'delete', path };
  if (kind === 'Add') return { kind: 'add', path, content: parseNewContent(reader) };
  const move = MOVE_HEADER.exec(reader.peek() ?? '');
  if (move) {
    reader.next();
    if (move[1]?.trim() === '') throw reader.wrong('the path is missing');
  }
  const hunks = parseHunks(reader);
  if (hunks.length === 0 && !move) throw reader.wrong(`the update of ${path} has no hunk; ${HUNK_HELP}`);
  return { kind: 'update', path, moveTo: move?.[1]?.trim(), hunks };
}

function parseNewContent(reader: LineReader): string {
  let content = '';
  for (;;) {
    reader.skipBlankBeforeHeader();
    const line = reader.peek();
    if (line === undefined || isHeader(line)) return content;
    reader.next();
    if (!line.startsWith('+')) throw reader.wrong("every line of an added file starts with '+'");
    content += `${line.slice(1)}\n`;
  }
}

function parseHunks(reader: LineReader): Hunk[] {
  const hunks: Hunk[] = [];
  for (;;) {
    reader.skipBlankBeforeHeader();
    const line = reader.peek();
    if (line === undefined || isHeader(line)) return hunks;
    hunks.push(parseHunk(reader));
  }
}

function parseHunk(reader: LineReader): Hunk {
  const hunk: Hunk = { anchors: [], lines: [], atEnd: false };
  for (let line = reader.peek(); line?.startsWith('@@'); line = reader.peek()) {
    reader.next();
    const anchor = DIFF_RANGE.test(line) ? '' : line.slice(2).trim();
    if (anchor !== '') hunk.anchors.push(anchor);
  }
  for (;;) {
    reader.skipBlankBeforeHeader();
    const line = reader.peek();
    if (line === undefined || line.startsWith('@@') || isHeader(line)) break;
    reader.next();
    if (line.trimEnd() === END_OF_FILE) {
      hunk.atEnd = true;
      break;
    }
    // diff(1) writes this about a last line without an end.
    if (line.startsWith('\\')) continue;
    // Many writers drop the one space of an empty kept line.
    const kind = line === '' ? 'keep' : KINDS[line[0] as string];
    if (kind === undefined) throw reader.wrong(HUNK_HELP);
    hunk.lines.push({ kind, text: line.slice(1) });
  }
  if (!hunk.lines.some(({ kind }) => kind !== 'keep')) {
    throw reader.wrong("the hunk changes nothing: it has no line that starts with '-' or '+'");
  }
  return hunk;
}

function isHeader(line: string): boolean {
  return line.startsWith('*** ') && line.trimEnd() !== END_OF_FILE;
}

class LineReader {
  readonly #lines: string[];
  /** Whether a line is empty and only empty ones come before the next part. */
  readonly #betweenParts: boolean[] = [];
  #at = 0;

  constructor(text: string) {
    const lines = text.split('\n');
    const ended = lines.slice(0, -1);
    const crlf = ended.length > 0 && ended.every((line) => line.endsWith('\r'));
    this.#lines = crlf ? text.split(/\r?\n/) : lines;
    let blank = true;
    for (let at = this.#lines.length - 1; at >= 0; at--) {
      const line = this.#lines[at] as string;
      this.#betweenParts[at] = blank && line === '';
      blank = this.#betweenParts[at] || line.startsWith('@@') || isHeader(line);
    }
  }

  peek(): string | undefined {
    return this.#lines[this.#at];
  }

  next(): string | undefined {
    return this.#lines[this.#at++];
  }

  skipBlank(): void {
    while (this.peek()?.trim() === '') this.#at++;
  }

  /** Empty lines between two parts belong to neither. */
  skipBlankBeforeHeader(): void {
    while (this.#betweenParts[this.#at]) this.#at++;
  }

  /** About the last line that was read, or a later one. */
  wrong(what: string, ahead = 0): PatchFormatError {
    const number = Math.min(this.#at + ahead, this.#lines.length);
    const line = this.#lines[number - 1] ?? '';
    return new PatchFormatError(
      `Line ${number} of the patch, ${JSON.stringify(line.slice(0, 200))}: ${what}.`,
    );
  }
}
