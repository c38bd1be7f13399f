/**
 * The smallest client that can test a server: plain `fetch`, the protocol's own SSE parser, no retries, nothing
 * hidden. It takes only a base URL.
 */
import {
  createSseParser,
  isTerminalEvent,
  type Run,
  type RunCreated,
  type RunEvent,
  type RunList,
} from '@talaria/protocol';

export interface Answer<T> {
  status: number;
  headers: Headers;
  body: T;
}

export interface Frame {
  id: string;
  /** The event as it came. */
  data: string;
  event: RunEvent;
}

export interface Streamed {
  frames: Frame[];
  comments: string[];
  /** The server ended the stream normally. */
  clean: boolean;
}

export interface StreamOptions {
  after?: number;
  /** Stop reading (and disconnect) when this returns true. */
  until?: (frame: Frame, frames: Frame[]) => boolean;
  signal?: AbortSignal;
  onFrame?: (frame: Frame) => void;
}

export class Api {
  readonly baseUrl: string;
  readonly key: string | undefined;

  constructor(baseUrl: string, key?: string) {
    this.baseUrl = baseUrl;
    this.key = key;
  }

  async request<T = unknown>(
    method: string,
    path: string,
    options: {
      body?: unknown;
      raw?: string | Uint8Array<ArrayBuffer> | FormData;
      headers?: Record<string, string>;
      signal?: AbortSignal;
    } = {},
  ): Promise<Answer<T>> {
    const response = await fetch(this.baseUrl + path, {
      method,
      headers: {
        ...this.#auth(),
        ...(options.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...options.headers,
      },
      ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
      ...(options.raw === undefined ? {} : { body: options.raw }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    const text = await response.text();
    const json = (response.headers.get('content-type') ?? '').startsWith('application/json');
    return {
      status: response.status,
      headers: response.headers,
      body: (json ? JSON.parse(text) : text) as T,
    };
  }

  get<T = unknown>(path: string): Promise<Answer<T>> {
    return this.request<T>('GET', path);
  }

  post<T = unknown>(path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer<T>> {
    return this.request<T>('POST', path, { body, headers });
  }

  /** Creates a run and returns its id; anything but 202 is an error. */
  async create(
    input: unknown,
    fields: Record<string, unknown> = {},
    headers: Record<string, string> = {},
  ): Promise<string> {
    const answer = await this.post<RunCreated>('/v1/runs', { input, ...fields }, headers);
    if (answer.status !== 202) throw new Error(`create: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body.run_id;
  }

  async run(runId: string): Promise<Run> {
    const answer = await this.get<Run>(`/v1/runs/${runId}`);
    if (answer.status !== 200) throw new Error(`get: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  async list(query = ''): Promise<RunList> {
    return (await this.get<RunList>(`/v1/runs${query}`)).body;
  }

  stop(runId: string): Promise<Answer<{ run_id: string; status: string }>> {
    return this.post(`/v1/runs/${runId}/stop`, {});
  }

  approve<T = { resolved: number; request_id: string; choice: string }>(
    runId: string,
    choice: string,
    fields: Record<string, unknown> = {},
  ): Promise<Answer<T>> {
    return this.post<T>(`/v1/runs/${runId}/approval`, { choice, ...fields });
  }

  /** Reads the stream until its end, or until told to disconnect. */
  async stream(runId: string, { after, until, signal, onFrame }: StreamOptions = {}): Promise<Streamed> {
    const abort = new AbortController();
    const response = await fetch(`${this.baseUrl}/v1/runs/${runId}/events`, {
      headers: { ...this.#auth(), ...(after === undefined ? {} : { 'last-event-id': String(after) }) },
      signal: signal === undefined ? abort.signal : AbortSignal.any([abort.signal, signal]),
    });
    // The cursor was at the last event.
    if (response.status === 204) return { frames: [], comments: [], clean: true };
    if (response.status !== 200 || response.body === null) {
      throw new Error(`events: ${response.status} ${await response.text()}`);
    }
    const result: Streamed = { frames: [], comments: [], clean: false };
    let stopped = false;
    const parser = createSseParser({
      onMessage({ id, data }) {
        if (stopped) return;
        const frame = { id, data, event: JSON.parse(data) as RunEvent };
        result.frames.push(frame);
        onFrame?.(frame);
        if (until?.(frame, result.frames)) stopped = true;
      },
      onComment: (text) => result.comments.push(text),
    });
    const decoder = new TextDecoder();
    try {
      for await (const chunk of response.body) {
        parser.feed(decoder.decode(chunk as Uint8Array, { stream: true }));
        if (stopped) break;
      }
      result.clean = !stopped;
    } catch (error) {
      if (!abort.signal.aborted && !isConnectionLoss(error)) throw error;
    } finally {
      abort.abort();
    }
    return result;
  }

  /** Follows a run to its end; the terminal event. */
  async finish(runId: string): Promise<RunEvent> {
    const { frames } = await this.stream(runId);
    const last = frames.at(-1)?.event;
    if (last === undefined || !isTerminalEvent(last.event))
      throw new Error(`The stream of ${runId} ended early`);
    return last;
  }

  #auth(): Record<string, string> {
    return this.key === undefined ? {} : { authorization: `Bearer ${this.key}` };
  }
}

/** What a killed server looks like from here. */
export function isConnectionLoss(error: unknown): boolean {
  return error instanceof TypeError && /terminated|fetch failed|other side closed/i.test(error.message);
}
