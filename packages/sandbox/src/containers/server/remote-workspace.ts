/** A workspace in a container, read over the stream to the server inside (workspace-calls.ts). */
import { addAbortSignal, Readable } from 'node:stream';
import type {
  ArchiveOptions,
  ArtifactFile,
  ArtifactListing,
  ListOptions,
  WorkspaceReader,
} from '../../artifacts.ts';
import type { SnapshotOptions, SurveyOptions, WorkspaceSurvey } from '../../snapshots.ts';
import type { WorkspaceView } from '../../workspace/workspace-view.ts';
import { string } from './checks.ts';
import { ProtocolError } from './frames.ts';
import type { Conversation, SandboxClient } from './sandbox-client.ts';
import {
  bytesOf,
  chunksOf,
  encodePart,
  type FileRequest,
  type OpenedFile,
  type Part,
  parseListing,
  parseOpenedFile,
  parsePart,
  parseSurvey,
  type WorkspaceCall,
  type WorkspacePart,
} from './workspace-calls.ts';

export class RemoteWorkspace implements WorkspaceView, WorkspaceReader {
  readonly #client: SandboxClient;
  readonly #trajectoryId: string;

  constructor(client: SandboxClient, trajectoryId: string) {
    this.#client = client;
    this.#trajectoryId = trajectoryId;
  }

  get reader(): WorkspaceReader {
    return this;
  }

  async survey({ maxEntries, signal }: SurveyOptions): Promise<WorkspaceSurvey | undefined> {
    const survey = parseSurvey(await this.#ask({ ...this.#call('survey'), maxEntries }, signal));
    return survey && { ...survey, fingerprint: survey.fingerprint };
  }

  snapshot({ maxBytes, signal }: SnapshotOptions): Promise<Readable | undefined> {
    return this.#stream({ ...this.#call('snapshot'), maxBytes }, signal);
  }

  async list(path: string, { signal, ...options }: ListOptions = {}): Promise<ArtifactListing> {
    return parseListing(await this.#ask({ ...this.#call('list'), path, ...options }, signal));
  }

  async archive(path: string, { signal, ...options }: ArchiveOptions = {}): Promise<Readable> {
    const stream = await this.#stream({ ...this.#call('archive'), path, ...options }, signal);
    if (stream) return stream;
    throw new ProtocolError('an archive has no bytes');
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
    const talk = await this.#client.converse({ ...this.#call('unpack'), part });
    try {
      for await (const said of chunksOf(packed)) await talk.send(encodePart(said));
      await answerOf(talk);
    } finally {
      talk.close();
    }
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
    if (request) await talk.send(request);
    yield* bytesOf(partsOf(talk));
  }
  const stream = Readable.from(bytes(), { objectMode: false });
  // Not in the generator: one that was never started runs no `finally`.
  stream.once('close', () => talk.close());
  return signal ? addAbortSignal(signal, stream) : stream;
}

async function* partsOf(talk: Conversation): AsyncGenerator<Part, void> {
  for (;;) yield parsePart(await talk.next());
}

async function answerOf(talk: Conversation): Promise<unknown> {
  const said = parsePart(await talk.next());
  if ('answer' in said) return said.answer;
  throw new ProtocolError('something else stands where an answer should');
}
