/** A workspace in a container, read and written over the stream to the server inside (workspace-calls.ts). */
import { addAbortSignal, Readable } from 'node:stream';
import type {
  ArchiveOptions,
  ArtifactFile,
  ArtifactListing,
  ListOptions,
  WorkspaceReader,
} from '../../artifacts.ts';
import type { CapturedPath, CaptureOptions, ReadFilesOptions, WorkspaceCapture } from '../../captures.ts';
import { SandboxError } from '../../errors.ts';
import type { SnapshotOptions } from '../../snapshots.ts';
import { fromBytes, limited } from '../../workspace/artifacts/archive.ts';
import { takeSnapshot } from '../../workspace/snapshots/take-snapshot.ts';
import type { WorkspaceView } from '../../workspace/workspace-view.ts';
import type { StagedFile, StagedTree } from '../../workspace/writing/staging.ts';
import type { WritableWorkspace } from '../../workspace/writing/workspace-directory.ts';
import type { MergedTree, RemoveOptions, WriteConditions, WrittenFile } from '../../writing.ts';
import { encodePaths, parseCapture } from './capture-lines.ts';
import { string } from './checks.ts';
import { ProtocolError } from './frames.ts';
import { type Conversation, type SandboxClient, ServerLost } from './sandbox-client.ts';
import {
  bytesOf,
  chunksOf,
  encodePart,
  type FileRequest,
  type OpenedFile,
  type Part,
  parseListing,
  parseMergedTree,
  parseOpenedFile,
  parsePart,
  parseWrittenFile,
  type WorkspaceCall,
  type WorkspacePart,
} from './workspace-calls.ts';

export class RemoteWorkspace implements WorkspaceView, WorkspaceReader, WritableWorkspace {
  readonly #client: SandboxClient;
  readonly #trajectoryId: string;

  constructor(client: SandboxClient, trajectoryId: string) {
    this.#client = client;
    this.#trajectoryId = trajectoryId;
  }

  get reader(): WorkspaceReader {
    return this;
  }

  async capture({ since, limits, signal }: CaptureOptions): Promise<WorkspaceCapture | undefined> {
    const { ignore, ...bounds } = limits ?? {};
    const call = { ...this.#call('capture'), since, ...bounds, ignore: ignore && [...ignore] };
    const lines = await this.#stream(call, signal);
    return lines && (await parseCapture(lines, limits?.maxEntries));
  }

  async *readFiles(
    paths: readonly CapturedPath[],
    { signal }: ReadFilesOptions,
  ): AsyncGenerator<Uint8Array, void> {
    const talk = await this.#client.converse(this.#call('read'), signal);
    try {
      for await (const said of chunksOf(encodePaths(paths))) await talk.send(encodePart(said));
      await answerOf(talk);
      yield* readable(talk, signal);
    } finally {
      talk.close();
    }
  }

  snapshot({ maxBytes, signal }: SnapshotOptions): Promise<Readable | undefined> {
    return this.#stream({ ...this.#call('snapshot'), maxBytes }, signal);
  }

  async list(path: string, { signal, ...options }: ListOptions = {}): Promise<ArtifactListing> {
    return parseListing(await this.#ask({ ...this.#call('list'), path, ...options }, signal));
  }

  async archive(path: string, { signal, ...options }: ArchiveOptions = {}): Promise<Readable> {
    const stream = await this.#stream({ ...this.#call('archive'), path, ...options }, signal);
    if (!stream) throw new ProtocolError('an archive has no bytes');
    const { maxBytes } = options;
    if (maxBytes === undefined) return stream;
    // The server inside counts, too, but what a container says is not trusted.
    return fromBytes(limited(stream, maxBytes, 'The archive'), () => stream.destroy());
  }

  async open(path: string): Promise<ArtifactFile> {
    const talk = await this.#client.converse({ ...this.#call('file'), path });
    try {
      return new RemoteFile(talk, parseOpenedFile(await answerOf(talk)));
    } catch (error) {
      talk.close();
      throw error;
    }
  }

  /** The parts that have to travel; undefined if there is none. */
  pack(part: WorkspacePart): Promise<Readable | undefined> {
    return this.#stream({ ...this.#call('pack'), part });
  }

  async unpack(part: WorkspacePart, packed: AsyncIterable<Uint8Array>): Promise<void> {
    await this.#send({ ...this.#call('unpack'), part }, packed);
  }

  put(path: string, staged: StagedFile, conditions: WriteConditions): Promise<WrittenFile> {
    return this.#send({ ...this.#call('write'), path, ...conditions }, staged.read()).then(parseWrittenFile);
  }

  async remove(path: string, options: RemoveOptions): Promise<void> {
    await this.#ask({ ...this.#call('remove'), path, ...options });
  }

  merge({ dir }: StagedTree): Promise<MergedTree> {
    const snapshot = takeSnapshot(() => dir, {});
    return this.#send(this.#call('merge'), snapshot).then(parseMergedTree);
  }

  async discard(): Promise<void> {
    await this.#ask(this.#call('discard'));
  }

  #call<Name extends WorkspaceCall['call']>(call: Name) {
    return { call, trajectoryId: this.#trajectoryId };
  }

  async #ask(call: WorkspaceCall, signal?: AbortSignal): Promise<unknown> {
    const talk = await this.#client.converse(call, signal);
    try {
      return await answerOf(talk);
    } finally {
      talk.close();
    }
  }

  /** A call with bytes; the answer comes when all of them have arrived. */
  async #send(call: WorkspaceCall, bytes: AsyncIterable<Uint8Array>): Promise<unknown> {
    const talk = await this.#client.converse(call);
    try {
      for await (const said of chunksOf(bytes)) await talk.send(encodePart(said));
      return await answerOf(talk);
    } finally {
      talk.close();
    }
  }

  async #stream(call: WorkspaceCall, signal?: AbortSignal): Promise<Readable | undefined> {
    const talk = await this.#client.converse(call, signal);
    try {
      if ((await answerOf(talk)) !== true) {
        talk.close();
        return undefined;
      }
      return readable(talk, signal);
    } catch (error) {
      talk.close();
      throw error;
    }
  }
}

class RemoteFile implements ArtifactFile {
  readonly path: string;
  readonly size: number;
  readonly modifiedAt: number;
  readonly #talk: Conversation;

  constructor(talk: Conversation, { path, size, modifiedAt }: OpenedFile) {
    this.path = path;
    this.size = size;
    this.modifiedAt = modifiedAt;
    this.#talk = talk;
  }

  async sha256(signal?: AbortSignal): Promise<string> {
    signal?.throwIfAborted();
    const close = () => this.#talk.close();
    signal?.addEventListener('abort', close, { once: true });
    try {
      await this.#talk.send({ want: 'sha256' } satisfies FileRequest);
      return string(await answerOf(this.#talk));
    } finally {
      signal?.removeEventListener('abort', close);
    }
  }

  stream(
    { start, end } = { start: 0, end: this.size },
    { sha256 }: { sha256?: string | undefined } = {},
  ): Readable {
    return readable(this.#talk, undefined, { want: 'bytes', start, end, sha256 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#talk.close();
  }
}

/** The chunks up to the end, after the request was sent. */
function readable(talk: Conversation, signal?: AbortSignal, request?: FileRequest): Readable {
  async function* bytes(): AsyncGenerator<Buffer, void> {
    try {
      if (request) await talk.send(request);
      const bytes = bytesOf(partsOf(talk));
      yield* request?.want === 'bytes' ? atMost(request.end - request.start, bytes) : bytes;
    } catch (error) {
      if (!(error instanceof ServerLost)) throw error;
      const text = 'The container ended while its files were read; try again.';
      throw new SandboxError('artifact_changed', text, { cause: error });
    }
  }
  const stream = Readable.from(bytes(), { objectMode: false });
  // Not in the generator: one that was never started runs no `finally`.
  stream.once('close', () => talk.close());
  return signal ? addAbortSignal(signal, stream) : stream;
}

async function* atMost(count: number, bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  let left = count;
  for await (const chunk of bytes) {
    left -= chunk.length;
    if (left < 0) throw new ProtocolError(`expected ${count} bytes of a file, got more`);
    yield chunk;
  }
}

async function* partsOf(talk: Conversation): AsyncGenerator<Part, void> {
  for (;;) yield parsePart(await talk.next());
}

async function answerOf(talk: Conversation): Promise<unknown> {
  const said = parsePart(await talk.next());
  if ('answer' in said) return said.answer;
  throw new ProtocolError('expected an answer, got another message');
}
