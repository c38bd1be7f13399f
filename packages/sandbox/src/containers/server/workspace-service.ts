/** The server's side of the calls about workspaces (workspace-calls.ts). */
import type { Readable } from 'node:stream';
import type { ArchiveFormat, WorkspaceReader } from '../../artifacts.ts';
import type { CapturedPath, ReadFilesOptions } from '../../captures.ts';
import { SandboxError } from '../../errors.ts';
import type { TrajectoryWorkspaces } from '../../trajectory-workspaces.ts';
import type { WorkspaceWriter } from '../../writing.ts';
import { captureLines, parsePaths } from './capture-lines.ts';
import {
  bytesOf,
  chunksOf,
  failedPart,
  type Part,
  parseFileRequest,
  parsePart,
  type WorkspaceCall,
  type WorkspacePart,
} from './workspace-calls.ts';

/** Workspaces that can move elsewhere with everything that belongs to them. */
export interface PackingWorkspaces extends TrajectoryWorkspaces {
  /** `readFiles` in one stream. */
  readFileBytes(
    trajectoryId: string,
    paths: readonly CapturedPath[],
    options?: ReadFilesOptions,
  ): AsyncIterable<Uint8Array>;
  /** Undefined if there is nothing. */
  pack(trajectoryId: string, part: WorkspacePart): Promise<Readable | undefined>;
  /** Replaces whatever the workspace had; `workspace` comes first, because it also clears the other part. */
  unpack(trajectoryId: string, part: WorkspacePart, packed: AsyncIterable<Uint8Array>): Promise<void>;
}

export async function serveWorkspace(
  workspaces: PackingWorkspaces,
  call: WorkspaceCall,
  frames: AsyncGenerator<unknown, void>,
  say: (part: Part) => Promise<void>,
  closed: AbortSignal,
): Promise<void> {
  try {
    for await (const part of answers(workspaces, call, frames, closed)) {
      closed.throwIfAborted();
      await say(part);
    }
  } catch (error) {
    await say(failedPart(error));
  }
}

async function* answers(
  workspaces: PackingWorkspaces,
  call: WorkspaceCall,
  frames: AsyncGenerator<unknown, void>,
  signal: AbortSignal,
): AsyncGenerator<Part, void> {
  const { trajectoryId } = call;
  switch (call.call) {
    case 'capture': {
      const { since, maxEntries, maxFileBytes, ignore } = call;
      const limits = { maxEntries, maxFileBytes, ignore };
      const capture = await workspaces.capture(trajectoryId, { since, limits, signal });
      return yield* streamed(capture && captureLines(capture));
    }
    case 'read': {
      const paths = await parsePaths(bytesOf(partsOf(frames)));
      return yield* streamed(workspaces.readFileBytes(trajectoryId, paths, { signal }));
    }
    case 'list': {
      const { path, recursive, maxEntries } = call;
      const reader = await readerOf(workspaces, trajectoryId);
      yield { answer: await reader.list(path, { recursive, maxEntries, signal }) };
      return;
    }
    case 'archive': {
      const { path, maxBytes, maxEntries } = call;
      const format = call.format as ArchiveFormat | undefined;
      const reader = await readerOf(workspaces, trajectoryId);
      return yield* streamed(await reader.archive(path, { format, maxBytes, maxEntries, signal }));
    }
    case 'file':
      return yield* fileAnswers(await readerOf(workspaces, trajectoryId), call.path, frames);
    case 'snapshot':
      return yield* streamed(await workspaces.snapshot(trajectoryId, { maxBytes: call.maxBytes, signal }));
    case 'pack':
      return yield* streamed(await workspaces.pack(trajectoryId, call.part));
    case 'unpack':
      await workspaces.unpack(trajectoryId, call.part, bytesOf(partsOf(frames)));
      yield { answer: true };
      return;
    case 'write': {
      const { path, ifMatch, ifNoneMatch } = call;
      const writer = await writerOf(workspaces, trajectoryId);
      const written = await writer.write(path, bytesOf(partsOf(frames)), { ifMatch, ifNoneMatch, signal });
      yield { answer: written };
      return;
    }
    case 'remove': {
      const { path, recursive, ifMatch, ifNoneMatch } = call;
      const writer = await writerOf(workspaces, trajectoryId);
      await writer.remove(path, { recursive, ifMatch, ifNoneMatch });
      yield { answer: true };
      return;
    }
    case 'merge': {
      const writer = await writerOf(workspaces, trajectoryId);
      yield { answer: await writer.merge(bytesOf(partsOf(frames)), { signal }) };
      return;
    }
    case 'discard':
      await workspaces.discard(trajectoryId);
      yield { answer: true };
  }
}

async function* fileAnswers(
  reader: WorkspaceReader,
  path: string,
  frames: AsyncGenerator<unknown, void>,
): AsyncGenerator<Part, void> {
  await using file = await reader.open(path);
  yield { answer: { path: file.path, size: file.size, modifiedAt: file.modifiedAt } };
  for await (const frame of untilDone(frames)) {
    const request = parseFileRequest(frame);
    if (request.want === 'sha256') yield { answer: await file.sha256() };
    else return yield* chunksOf(file.stream(request, { sha256: request.sha256 }));
  }
}

async function* streamed(stream: AsyncIterable<Uint8Array> | undefined): AsyncGenerator<Part, void> {
  yield { answer: stream !== undefined };
  if (stream) yield* chunksOf(stream);
}

async function* partsOf(frames: AsyncGenerator<unknown, void>): AsyncGenerator<Part, void> {
  for await (const frame of untilDone(frames)) yield parsePart(frame);
}

/** A reader that stops early must not close the connection, which still needs its answer. */
async function* untilDone(frames: AsyncGenerator<unknown, void>): AsyncGenerator<unknown, void> {
  for (let next = await frames.next(); !next.done; next = await frames.next()) yield next.value;
}

async function readerOf(workspaces: TrajectoryWorkspaces, trajectoryId: string): Promise<WorkspaceReader> {
  const reader = await workspaces.open(trajectoryId);
  if (reader) return reader;
  throw notHere();
}

async function writerOf(workspaces: TrajectoryWorkspaces, trajectoryId: string): Promise<WorkspaceWriter> {
  const writer = await workspaces.openWriter(trajectoryId);
  if (writer) return writer;
  throw notHere();
}

function notHere(): SandboxError {
  return new SandboxError('artifact_not_found', 'The workspace is not in this container.');
}
