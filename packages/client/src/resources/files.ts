/** `/v1/files`: files that the server keeps for its clients, in OpenAI's shapes. */
import type { FileDeleted, FileList, StoredFile } from '@talaria/protocol';
import type { Connection } from '../connection.ts';
import { toDownload } from '../download.ts';
import { ConnectionError } from '../errors.ts';
import { isPage, type PageQuery, Pages } from '../pages.ts';
import { type RequestOptions, segment, type Transport } from '../transport.ts';
import { toForm, type Uploadable } from '../upload-form.ts';

export interface UploadFileParams {
  /** A stream is read once. Where the platform cannot send streams, as in browsers, it is collected first. */
  file: Uploadable;
  /** Default: the name of a `File`, else `file`. */
  filename?: string | undefined;
  purpose?: string | undefined;
}

export interface FileFilter extends PageQuery {
  order?: 'asc' | 'desc' | undefined;
  purpose?: string | undefined;
}

export interface FileReadOptions extends RequestOptions {
  /** The first byte to read. */
  start?: number | undefined;
  /** The byte after the last one to read. */
  end?: number | undefined;
}

const STALL_MS = 60_000;
const PATH = '/v1/files';

export class Files {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** However long it takes, unless `timeout` is given: the time depends on the size. */
  async create(params: UploadFileParams, options: RequestOptions = {}): Promise<StoredFile> {
    const form = await toForm(params);
    return this.#transport.json<StoredFile>(
      { method: 'POST', path: PATH, ...form, repeat: false },
      { timeout: Number.POSITIVE_INFINITY, ...options },
    );
  }

  /** Newest first, unless `order` says otherwise. */
  list(filter: FileFilter = {}, options?: RequestOptions): Pages<StoredFile, FileList> {
    return new Pages(filter, (query) =>
      this.#transport.json<FileList>(
        { method: 'GET', path: PATH, query: { ...query }, fits: isPage, repeat: true },
        options,
      ),
    );
  }

  get(fileId: string, options?: RequestOptions): Promise<StoredFile> {
    return this.#transport.json<StoredFile>({ method: 'GET', path: pathOf(fileId), repeat: true }, options);
  }

  /** The bytes, or a part of them. The body streams, and continues by itself after a lost connection. */
  async content(fileId: string, options: FileReadOptions = {}): Promise<Response> {
    const { start = 0, end, ...request } = options;
    const open = (offset: number): Promise<Connection> => {
      const from = start + offset;
      const range =
        from === 0 && end === undefined ? undefined : `bytes=${from}-${end === undefined ? '' : end - 1}`;
      const path = `${pathOf(fileId)}/content`;
      return this.#transport.open({ method: 'GET', path, headers: { range }, repeat: true }, request);
    };
    const first = await open(0);
    const resume = async (offset: number): Promise<Connection> => {
      const next = await open(offset);
      // A file never changes, but a server that knows no ranges sends it from its beginning.
      if (next.response.status === 206) return next;
      next.close();
      throw new ConnectionError('The server cannot continue the file where the connection was lost');
    };
    const isEncoded = first.response.headers.has('content-encoding');
    return toDownload(first, {
      stallMs: STALL_MS,
      signal: request.signal,
      resume: isEncoded ? undefined : resume,
    });
  }

  delete(fileId: string, options?: RequestOptions): Promise<FileDeleted> {
    return this.#transport.json<FileDeleted>(
      { method: 'DELETE', path: pathOf(fileId), repeat: true },
      options,
    );
  }
}

function pathOf(fileId: string): string {
  return `${PATH}/${segment(fileId)}`;
}
