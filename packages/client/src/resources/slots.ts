/** `/v1/slots`: the sandbox without the agent, for training and evaluation. */
import type {
  AcquireSlotRequest,
  ExecuteSlotsRequest,
  ReleaseSlotRequest,
  Slot,
  SlotArtifact,
  SlotArtifactList,
  SlotList,
  SlotReleased,
  SlotResult,
  SlotResultEvent,
  SlotResults,
} from '@talaria/protocol';
import type { Connection } from '../connection.ts';
import { toAPIError } from '../error-answer.ts';
import { ConnectionError } from '../errors.ts';
import type { Params } from '../params.ts';
import { Reading } from '../reading.ts';
import { parseData, readMessages } from '../sse-messages.ts';
import { type Fields, isFields, type RequestOptions, segment, type Transport } from '../transport.ts';
import { type ArchiveQuery, Artifacts } from './artifacts.ts';

export type AcquireSlotParams = Params<AcquireSlotRequest>;
export type ExecuteSlotsParams = Params<ExecuteSlotsRequest>;
export type ReleaseSlotParams = Params<ReleaseSlotRequest>;

export interface SlotArtifactQuery {
  /** `text` by default. */
  encoding?: 'text' | 'base64' | undefined;
  /** A longer file is cut, and the result says so. */
  max_bytes?: number | undefined;
  include_sha256?: boolean | undefined;
}

export interface SlotArchiveQuery extends ArchiveQuery {
  /** The same as `format`, by the name that executors of trainers use. */
  archive_format?: ArchiveQuery['format'];
  /** A larger archive is refused. */
  max_bytes?: number | undefined;
  max_entries?: number | undefined;
}

/** The server waits for a free slot. */
const ACQUIRE_TIMEOUT_MS = 120_000;
/** A batch takes as long as its slowest command. */
const EXECUTE_TIMEOUT_MS = 600_000;
/** A container far away sends the files of the slot back first. */
const RELEASE_TIMEOUT_MS = 600_000;
const PATH = '/v1/slots';

export class Slots {
  readonly artifacts: SlotArtifacts;
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
    this.artifacts = new SlotArtifacts(transport);
  }

  /** Waits for a free slot. When the server has none, retries after the time it names. */
  acquire(params: AcquireSlotParams = {}, options?: RequestOptions): Promise<Slot> {
    const call = {
      method: 'POST',
      path: PATH,
      body: params,
      fits: isSlot,
      timeout: ACQUIRE_TIMEOUT_MS,
      // Acquiring the same trajectory twice gives the same slot.
      repeat: params.trajectory_id !== undefined,
    } as const;
    return this.#transport.json<Slot>(call, options);
  }

  /** The results, in the order of the requests. A call that failed is a result, not an error. */
  async execute(params: ExecuteSlotsParams, options?: RequestOptions): Promise<SlotResult[]> {
    const call = {
      method: 'POST',
      path: `${PATH}/execute`,
      body: params,
      fits: ({ results }: Fields) => Array.isArray(results) && results.every(isFields),
      timeout: EXECUTE_TIMEOUT_MS,
      repeat: false,
    } as const;
    return (await this.#transport.json<SlotResults>(call, options)).results;
  }

  /** Yields each result as soon as it arrives. */
  async stream(params: ExecuteSlotsParams, options: RequestOptions = {}): Promise<SlotResultStream> {
    const call = {
      method: 'POST',
      path: `${PATH}/execute`,
      body: params,
      events: true,
      repeat: false,
    } as const;
    const connection = await this.#transport.open(call, options);
    return new SlotResultStream(connection, options.timeout ?? EXECUTE_TIMEOUT_MS);
  }

  /** Ends what runs in the slot. The files of a trajectory are kept for a while unless they are reset. */
  release(slotId: string, params: ReleaseSlotParams = {}, options?: RequestOptions): Promise<SlotReleased> {
    const path = `${PATH}/${segment(slotId)}/release`;
    const call = { method: 'POST', path, body: params, timeout: RELEASE_TIMEOUT_MS, repeat: false } as const;
    return this.#transport.json<SlotReleased>(call, options);
  }

  /** The slots of this key. */
  async list(options?: RequestOptions): Promise<Slot[]> {
    return (await this.#list(options)).data;
  }

  /** How many slots this key holds and could have. */
  async stats(options?: RequestOptions): Promise<SlotList['stats']> {
    return (await this.#list(options)).stats;
  }

  #list(options: RequestOptions | undefined): Promise<SlotList> {
    const call = { method: 'GET', path: PATH, fits: isList, repeat: true } as const;
    return this.#transport.json<SlotList>(call, options);
  }
}

/** The files of a slot: the routes of a run's artifacts, and one that returns a file's content in one piece. */
export class SlotArtifacts extends Artifacts<SlotArtifactList> {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    super(transport, PATH);
    this.#transport = transport;
  }

  /** One file as text or base64, cut when it is longer than `max_bytes`. */
  content(
    slotId: string,
    path: string,
    query: SlotArtifactQuery = {},
    options?: RequestOptions,
  ): Promise<SlotArtifact> {
    const { encoding = 'text', ...others } = query;
    const call = {
      method: 'GET',
      path: `${PATH}/${segment(slotId)}/artifacts/content`,
      query: { path, encoding, ...others },
      repeat: true,
    } as const;
    return this.#transport.json<SlotArtifact>(call, options);
  }

  /** A directory as an archive. With a limit or `archive_format` it comes in one piece, with `X-Talaria-Entry-Count`. */
  override archive(
    slotId: string,
    query: SlotArchiveQuery = {},
    options: RequestOptions = {},
  ): Promise<Response> {
    return super.archive(slotId, query, options);
  }
}

/** The results of a batch. Can be read once. Leaving the loop ends the request and the calls that still run. */
export class SlotResultStream extends Reading<SlotResultEvent> {
  readonly #results: SlotResult[] = [];

  constructor(connection: Connection, timeout: number) {
    super(readResults(connection, timeout));
  }

  /** All results in the order of the requests, after reading the rest. */
  async results(): Promise<SlotResult[]> {
    await this.finish();
    return this.#results;
  }

  protected override observe({ index, result }: SlotResultEvent): void {
    this.#results[index] = result;
  }
}

async function* readResults(
  connection: Connection,
  timeout: number,
): AsyncGenerator<SlotResultEvent, void, undefined> {
  for await (const { event, data } of readMessages(connection, timeout)) {
    if (event === 'error') throw toAPIError(500, connection.response.headers, data);
    if (event === 'slot.done') return;
    if (event === 'slot.result') yield parseData(data) as SlotResultEvent;
  }
  throw new ConnectionError('The stream ended before the batch did');
}

function isSlot({ id }: Fields): boolean {
  return typeof id === 'string';
}

function isList({ data, stats }: Fields): boolean {
  return Array.isArray(data) && data.every(isFields) && isFields(stats);
}
