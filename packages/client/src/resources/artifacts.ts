/** `/v1/runs/{id}/artifacts`: the files of a run's workspace. A slot's files have the same routes. */
import type { ArtifactList, ArtifactRemoved, WrittenArtifact } from '@talaria/protocol';
import type { Connection } from '../connection.ts';
import { toDownload } from '../download.ts';
import { ConnectionError } from '../errors.ts';
import {
  type Fields,
  isFields,
  type RequestOptions,
  segment,
  type Transport,
  type UploadBody,
} from '../transport.ts';

export interface AtQuery {
  /** The `seq` of an event of the run: the files as they were after it. By default as they are now. */
  at?: number | undefined;
}

export interface ArtifactListQuery extends AtQuery {
  /** A directory or file of the workspace; the whole workspace by default. */
  path?: string | undefined;
  recursive?: boolean | undefined;
}

export interface ArtifactReadOptions extends RequestOptions, AtQuery {
  /** The first byte to read. */
  start?: number | undefined;
  /** The byte after the last one to read. */
  end?: number | undefined;
}

export interface ArchiveQuery extends AtQuery {
  /** A directory or file of the workspace; the whole workspace by default. */
  path?: string | undefined;
  /** `tgz` is another name of `tar.gz`, which is the default. */
  format?: 'tar.gz' | 'tgz' | 'tar' | 'zip' | undefined;
}

export interface ArtifactConditions {
  /** The sha256 or the `ETag` that the file must have; otherwise nothing is changed, and the call fails with 412. */
  ifMatch?: string | undefined;
}

export interface ArtifactWriteQuery extends ArtifactConditions {
  /** `*`: there must be nothing at this path. */
  ifNoneMatch?: '*' | undefined;
}

export interface ArtifactRemoveQuery extends ArtifactConditions {
  /** Also remove a directory that is not empty. */
  recursive?: boolean | undefined;
}

/** The server reads the whole file before it sends the first byte, to compute its digest. */
const TIMEOUT_MS = 600_000;
const STALL_MS = 60_000;

/** `base` is the path before the id of the run or slot. */
export class Artifacts<List = ArtifactList> {
  readonly #transport: Transport;
  readonly #base: string;

  constructor(transport: Transport, base = '/v1/runs') {
    this.#transport = transport;
    this.#base = base;
  }

  list(id: string, query: ArtifactListQuery = {}, options?: RequestOptions): Promise<List> {
    const path = this.#pathOf(id);
    const call = { method: 'GET', path, query, fits: isList, repeat: true } as const;
    return this.#transport.json<List>(call, options);
  }

  /**
   * One file, or a part of it. The body streams, and continues by itself after a lost connection. `ETag` is the sha256
   * of the whole file.
   */
  async read(id: string, path: string, options: ArtifactReadOptions = {}): Promise<Response> {
    const { start = 0, end, at, ...request } = options;
    const open = (offset: number): Promise<Connection> => {
      const from = start + offset;
      const range =
        from === 0 && end === undefined ? undefined : `bytes=${from}-${end === undefined ? '' : end - 1}`;
      const call = {
        method: 'GET',
        path: `${this.#pathOf(id)}/content`,
        query: { path, at },
        headers: { range },
        timeout: TIMEOUT_MS,
        repeat: true,
      } as const;
      return this.#transport.open(call, request);
    };
    const first = await open(0);
    const { headers } = first.response;
    const tag = headers.get('etag');
    const resume = async (offset: number): Promise<Connection> => {
      const next = await open(offset);
      if (next.response.status === 206 && next.response.headers.get('etag') === tag) return next;
      next.close();
      throw new ConnectionError(`'${path}' changed while it was read; read it again`);
    };
    return toDownload(first, {
      stallMs: STALL_MS,
      signal: request.signal,
      // Without a tag nobody knows whether the rest belongs to the same file. A range counts bytes as they are stored.
      resume: tag === null || headers.has('content-encoding') ? undefined : resume,
    });
  }

  /** A directory as an archive. The body streams. */
  async archive(id: string, query: ArchiveQuery = {}, options: RequestOptions = {}): Promise<Response> {
    const path = `${this.#pathOf(id)}/archive`;
    const connection = await this.#transport.open({ method: 'GET', path, query, repeat: true }, options);
    return toDownload(connection, { stallMs: STALL_MS, signal: options.signal });
  }

  #pathOf(id: string): string {
    return `${this.#base}/${segment(id)}/artifacts`;
  }
}

/** A run's files can also be written. */
export class RunArtifacts extends Artifacts {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    super(transport);
    this.#transport = transport;
  }

  /**
   * Writes one file, also while the run works. It is there as a whole or not at all. A stream is sent as it is read, and
   * cannot be sent again if the connection is lost.
   */
  write(
    id: string,
    path: string,
    content: UploadBody,
    { ifMatch, ifNoneMatch }: ArtifactWriteQuery = {},
    options?: RequestOptions,
  ): Promise<WrittenArtifact> {
    const call = {
      method: 'PUT',
      path: contentOf(id),
      query: { path },
      bytes: content,
      headers: { 'if-match': tagOf(ifMatch), 'if-none-match': ifNoneMatch },
      timeout: TIMEOUT_MS,
      // With a condition, a second attempt would find what the first one wrote.
      repeat: ifMatch === undefined && ifNoneMatch === undefined,
    } as const;
    return this.#transport.json<WrittenArtifact>(call, options);
  }

  /** Removes a file, a link or a directory. */
  remove(
    id: string,
    path: string,
    { ifMatch, recursive }: ArtifactRemoveQuery = {},
    options?: RequestOptions,
  ): Promise<ArtifactRemoved> {
    const call = {
      method: 'DELETE',
      path: contentOf(id),
      query: { path, recursive },
      headers: { 'if-match': tagOf(ifMatch) },
      // A second attempt would find nothing.
      repeat: false,
    } as const;
    return this.#transport.json<ArtifactRemoved>(call, options);
  }
}

function contentOf(id: string): string {
  return `/v1/runs/${segment(id)}/artifacts/content`;
}

function tagOf(digest: string | undefined): string | undefined {
  return digest === undefined || digest === '*' || digest.startsWith('"') ? digest : `"${digest}"`;
}

function isList({ data }: Fields): boolean {
  return Array.isArray(data) && data.every(isFields);
}
