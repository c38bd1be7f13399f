/** A capture, and a list of paths, as bytes on their way to the other side: lines of JSON, each checked by its reader. */
import type {
  CapturedEntry,
  CapturedPath,
  CapturedType,
  OmissionReason,
  OmittedEntry,
  WorkspaceCapture,
} from '../../captures.ts';
import { MAX_OMITTED } from '../../workspace/captures/capture-result.ts';
import { boolean, type Check, integer, number, object, oneOf, optional, shape, string } from './checks.ts';
import { ProtocolError } from './frames.ts';

/** Lines are sent in pieces of about this size. */
const PIECE_CHARS = 64 * 1024;
/** Room for the longest path, its bytes in base64, and a link's target. */
const MAX_LINE_BYTES = 256 * 1024;
/** Far more than any capture before listed. */
const MAX_REMOVED = 1_000_000;

type CaptureHead = Omit<WorkspaceCapture, 'changed' | 'removed' | 'omitted' | 'contents'>;

const parsePath = shape<CapturedPath>({ path: relativePath, path_bytes: optional(pathBytes) });
const parseHead = shape<CaptureHead>({
  captureId: string,
  isWhole: boolean,
  omittedCount: integer,
  entries: integer,
  bytes: integer,
});
const parseEntry = shape<CapturedEntry>({
  path: relativePath,
  path_bytes: optional(pathBytes),
  type: oneOf<CapturedType>({ file: true, directory: true, symlink: true }),
  mode: integer,
  modified_ms: number,
  size: integer,
  sha256: optional(sha256),
  target: optional(string),
  target_bytes: optional(string),
});
const parseOmitted = shape<OmittedEntry>({
  path: relativePath,
  path_bytes: optional(pathBytes),
  reason: oneOf<OmissionReason>({
    ...{ special: true, unreadable: true, too_large: true },
    ...{ too_many: true, too_deep: true, ignored: true },
  }),
});

export async function* captureLines(capture: WorkspaceCapture): AsyncGenerator<Buffer, void> {
  const { changed, removed, omitted, contents, ...head } = capture;
  yield* pieces([head], 'capture');
  yield* pieces(changed, 'changed');
  yield* pieces(removed, 'removed');
  yield* pieces(omitted, 'omitted');
}

/** Refuses a list that is longer than the one we asked the container for. */
export async function parseCapture(
  bytes: AsyncIterable<Uint8Array>,
  maxEntries = Number.POSITIVE_INFINITY,
): Promise<WorkspaceCapture> {
  let head: CaptureHead | undefined;
  const [changed, removed, omitted]: [CapturedEntry[], CapturedPath[], OmittedEntry[]] = [[], [], []];
  for await (const line of linesOf(bytes)) {
    if ('changed' in line) changed.push(checkEntry(parseEntry(line.changed)));
    else if ('removed' in line) removed.push(parsePath(line.removed));
    else if ('omitted' in line) omitted.push(parseOmitted(line.omitted));
    else head = parseHead(line.capture);
    if (changed.length > maxEntries || removed.length > MAX_REMOVED || omitted.length > MAX_OMITTED) {
      throw new ProtocolError('a capture lists more entries than it may');
    }
  }
  if (head === undefined) throw new ProtocolError('a capture has no head');
  return { ...head, changed, removed, omitted };
}

export async function* encodePaths(paths: readonly CapturedPath[]): AsyncGenerator<Buffer, void> {
  const plain = paths.map(({ path, path_bytes }) => ({ path, ...(path_bytes ? { path_bytes } : {}) }));
  yield* pieces(plain, 'path');
}

export async function parsePaths(bytes: AsyncIterable<Uint8Array>): Promise<CapturedPath[]> {
  const paths: CapturedPath[] = [];
  for await (const line of linesOf(bytes)) paths.push(parsePath(line.path));
  return paths;
}

function* pieces(values: readonly object[], kind: string): Generator<Buffer, void> {
  let text = '';
  for (const value of values) {
    text += `${JSON.stringify({ [kind]: value })}\n`;
    if (text.length < PIECE_CHARS) continue;
    yield Buffer.from(text);
    text = '';
  }
  if (text !== '') yield Buffer.from(text);
}

async function* linesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Record<string, unknown>, void> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of bytes) {
    const all = Buffer.concat([rest, chunk]);
    let at = 0;
    for (let end = all.indexOf('\n'); end !== -1; end = all.indexOf('\n', at)) {
      yield parseLine(all.subarray(at, end));
      at = end + 1;
    }
    rest = all.subarray(at);
    if (rest.length > MAX_LINE_BYTES) throw new ProtocolError(`a line is over ${MAX_LINE_BYTES} bytes`);
  }
  if (rest.length > 0) throw new ProtocolError('the last line of a capture is not complete');
}

function parseLine(line: Buffer): Record<string, unknown> {
  try {
    return object(JSON.parse(line.toString()));
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    throw new ProtocolError('a line of a capture is not JSON');
  }
}

/** A file needs its digest and a link its target: the server stores them by these. */
function checkEntry(entry: CapturedEntry): CapturedEntry {
  const complete =
    entry.type === 'file'
      ? entry.sha256 !== undefined
      : entry.type === 'directory' || entry.target !== undefined;
  if (complete && entry.size >= 0) return entry;
  throw new ProtocolError('a captured entry lacks its content');
}

/** A path that leads only downwards from the workspace. */
function relativePath(value: unknown): string {
  const path = string(value);
  const isRelative = !path.includes('\0') && !path.split('/').some((name) => ['', '.', '..'].includes(name));
  if (isRelative) return path;
  throw new ProtocolError('expected a path in the workspace');
}

function pathBytes(value: unknown): string {
  const base64 = string(value);
  relativePath(Buffer.from(base64, 'base64').toString('latin1'));
  return base64;
}

function sha256(value: unknown): ReturnType<Check<string>> {
  const text = string(value);
  if (/^[0-9a-f]{64}$/.test(text)) return text;
  throw new ProtocolError('expected a sha256 in hex');
}
