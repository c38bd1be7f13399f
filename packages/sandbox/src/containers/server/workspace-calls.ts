/**
 * The calls about a workspace that lives in a container, for both sides (protocol.ts). All are by trajectory, and need
 * no slot.
 *
 *   list               answered with one `Answer`, or `Failed`.
 *   capture            answered with `Answer` (false if there is no workspace), then `Chunk`s, then `End`, or `Failed`. The
 *                      data are lines of JSON (capture-lines.ts), because a capture may be longer than a line can be.
 *   read               followed by `Chunk`s and the `End` of a list of paths in JSON. Answered like `archive`, with the content of
 *                      these files.
 *   archive, snapshot  answered with `Answer` as soon as there will be bytes, then `Chunk`s, then `End`, or `Failed`.
 *   file               answered with `Answer`. The file stays open for as long as the connection does. The next line asks
 *                      for its digest (`Answer`) or for a part of it (`Chunk`s, then `End`).
 *   pack               like `snapshot`, but of what has to travel with a workspace to be used elsewhere, in parts: itself, and
 *                      what lies beside it (its /tmp, and what its shell remembers).
 *   unpack             followed by the `Chunk`s and the `End` of such a part. Answered with `Answer`.
 *   write              followed by the `Chunk`s and the `End` of a file. Answered with `Answer` when the file is in place.
 *   merge              the same with a snapshot.
 *   remove, discard    remove a path, or the workspace. Answered with `Answer`.
 *
 * Bytes are in base64: a third more data, but a line stays a line.
 */
import type { Artifact, ArtifactListing, ArtifactType } from '../../artifacts.ts';
import { SandboxError, type SandboxErrorCode } from '../../errors.ts';
import type { MergedTree, RemoveOptions, WriteConditions, WrittenFile } from '../../writing.ts';
import {
  boolean,
  type Check,
  integer,
  listOf,
  number,
  object,
  oneOf,
  optional,
  shape,
  string,
} from './checks.ts';
import { ProtocolError } from './frames.ts';

export type WorkspacePart = 'workspace' | 'state';

export type WorkspaceCall =
  | {
      call: 'capture';
      trajectoryId: string;
      since?: string | undefined;
      maxEntries?: number | undefined;
      maxFileBytes?: number | undefined;
      ignore?: string[] | undefined;
    }
  | { call: 'read'; trajectoryId: string }
  | {
      call: 'list';
      trajectoryId: string;
      path: string;
      recursive?: boolean | undefined;
      maxEntries?: number | undefined;
    }
  | {
      call: 'archive';
      trajectoryId: string;
      path: string;
      format?: string | undefined;
      maxBytes?: number | undefined;
      maxEntries?: number | undefined;
    }
  | { call: 'file'; trajectoryId: string; path: string }
  | { call: 'snapshot'; trajectoryId: string; maxBytes?: number | undefined }
  | { call: 'pack'; trajectoryId: string; part: WorkspacePart }
  | { call: 'unpack'; trajectoryId: string; part: WorkspacePart }
  | ({ call: 'write'; trajectoryId: string; path: string } & WriteConditions)
  | ({ call: 'remove'; trajectoryId: string; path: string } & RemoveOptions)
  | { call: 'merge'; trajectoryId: string }
  | { call: 'discard'; trajectoryId: string };

export type FileRequest =
  | { want: 'sha256' }
  | { want: 'bytes'; start: number; end: number; sha256?: string | undefined };

export interface OpenedFile {
  path: string;
  size: number;
  modifiedAt: number;
}

/** The messages of either side during such a call. */
export type Part =
  | { answer: unknown }
  | { data: Buffer }
  | { end: true }
  | { failed: string; code?: SandboxErrorCode | undefined };

const part = oneOf<WorkspacePart>({ workspace: true, state: true });

const tags: Check<readonly string[] | '*'> = (value) => (value === '*' ? value : listOf(string)(value));
const conditions = { ifMatch: optional(tags), ifNoneMatch: optional(tags) };

const CALLS: { [Name in WorkspaceCall['call']]: Check<Extract<WorkspaceCall, { call: Name }>> } = {
  capture: shape({
    call: () => 'capture' as const,
    trajectoryId: string,
    since: optional(string),
    maxEntries: optional(integer),
    maxFileBytes: optional(integer),
    ignore: optional(listOf(string)),
  }),
  read: shape({ call: () => 'read' as const, trajectoryId: string }),
  list: shape({
    call: () => 'list' as const,
    trajectoryId: string,
    path: string,
    recursive: optional(boolean),
    maxEntries: optional(number),
  }),
  archive: shape({
    call: () => 'archive' as const,
    trajectoryId: string,
    path: string,
    format: optional(string),
    maxBytes: optional(number),
    maxEntries: optional(number),
  }),
  file: shape({ call: () => 'file' as const, trajectoryId: string, path: string }),
  snapshot: shape({ call: () => 'snapshot' as const, trajectoryId: string, maxBytes: optional(number) }),
  pack: shape({ call: () => 'pack' as const, trajectoryId: string, part }),
  unpack: shape({ call: () => 'unpack' as const, trajectoryId: string, part }),
  write: shape({ call: () => 'write' as const, trajectoryId: string, path: string, ...conditions }),
  remove: shape({
    call: () => 'remove' as const,
    trajectoryId: string,
    path: string,
    recursive: optional(boolean),
    ...conditions,
  }),
  merge: shape({ call: () => 'merge' as const, trajectoryId: string }),
  discard: shape({ call: () => 'discard' as const, trajectoryId: string }),
};

export function parseWorkspaceCall(frame: unknown): WorkspaceCall {
  const { call } = object(frame);
  if (typeof call === 'string' && Object.hasOwn(CALLS, call)) return CALLS[call as keyof typeof CALLS](frame);
  throw new ProtocolError('a connection begins with an unknown call');
}

export function parseFileRequest(frame: unknown): FileRequest {
  return object(frame).want === 'sha256' ? { want: 'sha256' } : parseBytesRequest(frame);
}

const parseBytesRequest = shape<Extract<FileRequest, { want: 'bytes' }>>({
  want: () => 'bytes' as const,
  start: integer,
  end: integer,
  sha256: optional(string),
});

export const parseOpenedFile = shape<OpenedFile>({ path: string, size: integer, modifiedAt: number });

export const parseWrittenFile = shape<WrittenFile>({
  path: string,
  size: integer,
  sha256: string,
  modifiedAt: number,
  isNew: boolean,
});

export const parseMergedTree = shape<MergedTree>({ entries: integer, omitted: integer });

export const parseListing = shape<ArtifactListing>({
  entries: listOf(
    shape<Artifact>({
      path: string,
      type: oneOf<ArtifactType>({
        ...{ file: true, directory: true, symlink: true },
        ...{ device: true, fifo: true, socket: true },
      }),
      size: integer,
      modifiedAt: number,
    }),
  ),
  truncated: boolean,
});

const errorCode = oneOf<SandboxErrorCode>({
  isolation_unavailable: true,
  limit_unenforceable: true,
  backend_down: true,
  container_failed: true,
  slot_held: true,
  slot_unavailable: true,
  acquire_timeout: true,
  slot_not_closed: true,
  slot_gone: true,
  invalid_request: true,
  invalid_path: true,
  artifact_not_found: true,
  artifact_too_large: true,
  artifact_changed: true,
  artifact_timeout: true,
  precondition_failed: true,
  workspace_full: true,
  workspace_not_removed: true,
  workspace_reverted: true,
  snapshot_damaged: true,
});

export function encodePart(said: Part): object {
  return 'data' in said ? { data: said.data.toString('base64') } : said;
}

/** Throws the failure that the other side reports. */
export function parsePart(frame: unknown): Exclude<Part, { failed: string }> {
  const said = object(frame);
  if ('failed' in said) {
    const message = string(said.failed);
    throw said.code === undefined ? new Error(message) : new SandboxError(errorCode(said.code), message);
  }
  if ('data' in said) return { data: Buffer.from(string(said.data), 'base64') };
  if (said.end === true) return { end: true };
  if ('answer' in said) return { answer: said.answer };
  throw new ProtocolError('expected a line with an answer, data or an end, got another one');
}

export function failedPart(error: unknown): Extract<Part, { failed: string }> {
  const failed = error instanceof Error ? error.message : String(error);
  return error instanceof SandboxError ? { failed, code: error.code } : { failed };
}

/** As much as goes into one line. */
const MAX_CHUNK_BYTES = 256 * 1024;

export async function* chunksOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Part, void> {
  for await (const given of bytes) {
    const buffer = Buffer.from(given.buffer, given.byteOffset, given.byteLength);
    for (let at = 0; at < buffer.length; at += MAX_CHUNK_BYTES)
      yield { data: buffer.subarray(at, at + MAX_CHUNK_BYTES) };
  }
  yield { end: true };
}

/** The bytes up to the end message; a stream that breaks off is an error. */
export async function* bytesOf(parts: AsyncIterable<Part>): AsyncGenerator<Buffer, void> {
  for await (const said of parts) {
    if ('end' in said) return;
    if (!('data' in said)) throw new ProtocolError('expected data, got another message');
    yield said.data;
  }
  throw new Error('the connection ended before the data did');
}
