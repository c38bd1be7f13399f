/**
 * The backend's side of the protocol: one container's sandbox server, from `attach` until it is lost.
 *
 *   attached ─its connection ends→ lost
 *   attached ─it leaves pings unanswered for some seconds, or a call long after its deadline→ lost
 *   attached ─it sends an answer without a question, too much, or an invalid line→ lost
 *
 * Lost is final. Every call in progress then ends at once: an execution without its result, anything else with an
 * error. So no call waits longer for a dead or frozen container than the pings take to notice it, and none waits
 * forever for a container that commands have taken over.
 */
import type { Duplex } from 'node:stream';
import { ProtocolError, readFrames, writeFrame } from './frames.ts';
import {
  type Abort,
  type Attached,
  type Call,
  MAX_FRAME_BYTES,
  type Opened,
  type Ping,
  parseAttached,
  parseClosed,
  parseOpened,
  parsePong,
  parseToolResult,
  type ToolCall,
  type ToolResult,
} from './protocol.ts';

const PING_EVERY_MS = 2_000;
const UNANSWERED_MS = 6_000;
/** How many pings after its deadline a call is given up: a minute, far more than a busy server needs. */
const GRACE_PINGS = 30;
/** Between two lines of a longer answer: long enough to read a very large file. */
const LONGEST_PAUSE_MS = 10 * 60_000;
/** The size of an answer besides its output, whose bytes may take up to six times as many in JSON. */
const MAX_OTHER_BYTES = 1024 * 1024;
const MAX_BYTES_IN_JSON = 6;

export interface ClientCall extends Omit<ToolCall, 'index'> {
  /** Aborting ends only this call. */
  signal: AbortSignal;
  /** How long it may take. */
  longestS: number;
}

/** A connection on which both sides send several messages. */
export interface Conversation {
  send(frame: object): Promise<void>;
  /** The next line of the other side, unchecked; rejects when there will be none, with `ServerLost` if the server is. */
  next(): Promise<unknown>;
  close(): void;
}

export interface ClientOptions {
  pingEveryMs?: number;
  /** How long pings may go unanswered. */
  answersWithinMs?: number | undefined;
  /** The limit of a call's output, as the server was told. */
  outputLimitBytes?: number;
}

/** An unanswered call, and the last ping before which it must be answered. */
interface Unanswered {
  lastPing: number;
}

export class ServerLost extends Error {
  constructor(reason: string) {
    super(`the sandbox server is lost: ${reason}`);
  }
}

export class SandboxClient {
  readonly #connect: () => Duplex;
  readonly #connections = new Set<Duplex>();
  readonly #lost = new AbortController();
  readonly #pingEveryMs: number;
  readonly #maxUnanswered: number;
  readonly #maxResultBytes: number;
  readonly #pings = new Map<number, () => void>();
  readonly #unanswered = new Set<Unanswered>();
  #pingCount = 0;
  #pongCount = 0;
  /** Counts the regular pings. */
  #watchCount = 0;
  #owner: Duplex | undefined;
  #attached: Attached | undefined;

  private constructor(connect: () => Duplex, options: ClientOptions) {
    const { pingEveryMs = PING_EVERY_MS, answersWithinMs = UNANSWERED_MS, outputLimitBytes } = options;
    this.#connect = connect;
    this.#pingEveryMs = pingEveryMs;
    this.#maxUnanswered = Math.ceil(answersWithinMs / pingEveryMs);
    this.#maxResultBytes =
      outputLimitBytes === undefined
        ? MAX_FRAME_BYTES
        : Math.min(MAX_FRAME_BYTES, MAX_OTHER_BYTES + outputLimitBytes * MAX_BYTES_IN_JSON);
  }

  static async attach(
    connect: () => Duplex,
    signal: AbortSignal,
    options: ClientOptions = {},
  ): Promise<SandboxClient> {
    const client = new SandboxClient(connect, options);
    await client.#attach(signal);
    client.#watch();
    return client;
  }

  /** The isolation and limits of its commands, as it reported when it accepted its owner. */
  get attached(): Attached {
    if (!this.#attached) throw new Error('not attached');
    return this.#attached;
  }

  /** Aborts when the server is lost. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Releases the server, which then ends. */
  detach(): void {
    this.#lose('it was given up');
  }

  /** Resolves when the server has answered, however busy it is. */
  async ping(signal: AbortSignal): Promise<void> {
    const ping = this.#pingCount++;
    try {
      await orAborted(AbortSignal.any([signal, this.lost]), async () => {
        const answered = new Promise<void>((resolve) => this.#pings.set(ping, resolve));
        if (this.#owner) await writeFrame(this.#owner, { ping } satisfies Ping);
        await answered;
      });
    } finally {
      this.#pings.delete(ping);
    }
  }

  async open(trajectoryId: string): Promise<Opened> {
    const answer = parseOpened(await this.#ask({ call: 'open', trajectoryId }));
    if ('failed' in answer) throw new Error(answer.failed);
    return answer;
  }

  async close(slotId: string): Promise<void> {
    const answer = parseClosed(await this.#ask({ call: 'close', slotId }));
    if ('failed' in answer) throw new Error(answer.failed);
  }

  /**
   * A call whose answer is more than one line. Each line has to come within the time plus the grace; aborting ends the
   * call. The caller closes it.
   */
  async converse(call: Call, signal?: AbortSignal, withinMs = LONGEST_PAUSE_MS): Promise<Conversation> {
    signal?.throwIfAborted();
    const connection = this.#open();
    const frames = readFrames(connection, MAX_FRAME_BYTES);
    const unanswered = this.#expect(withinMs);
    const renew = () => {
      unanswered.lastPing = this.#pingAfter(withinMs);
    };
    let closed = false;
    const close = () => {
      closed = true;
      this.#unanswered.delete(unanswered);
      signal?.removeEventListener('abort', close);
      connection.destroy();
    };
    signal?.addEventListener('abort', close, { once: true });
    await writeFrame(connection, call);
    return {
      close,
      async send(frame) {
        renew();
        await writeFrame(connection, frame);
      },
      next: async () => {
        try {
          renew();
          const { value, done } = await frames.next();
          if (!done) return value;
          throw new Error('the connection ended before the answer came');
        } catch (error) {
          signal?.throwIfAborted();
          // All connections end with the server, in any order. Only a ping tells whether it still lives.
          if (!closed && !(error instanceof ProtocolError)) await this.ping(signal ?? this.lost);
          throw this.lost.aborted ? this.lost.reason : error;
        }
      },
    };
  }

  /** Calls `onResult` for each answered call; the others were lost with the server. */
  async execute(
    calls: readonly ClientCall[],
    timeoutS: number | undefined,
    onResult: (result: ToolResult) => void,
  ): Promise<void> {
    if (this.lost.aborted) return;
    const connection = this.#open();
    const over = new AbortController();
    const pending = new Map(calls.map(({ longestS }, index) => [index, this.#expect(longestS * 1000)]));
    try {
      void this.#sendCalls(connection, calls, timeoutS, pending, over.signal);
      for await (const frame of readFrames(connection, this.#maxResultBytes)) {
        const result = parseToolResult(frame);
        const answered = pending.get(result.index);
        if (!answered) throw new ProtocolError('a call was answered that is not in progress');
        this.#unanswered.delete(answered);
        pending.delete(result.index);
        onResult(result);
      }
      if (pending.size > 0) this.#lose('it left calls unanswered');
    } catch (error) {
      // Whether the connection broke or the protocol was violated, this server must not be used again.
      this.#lose((error as Error).message);
    } finally {
      over.abort();
      for (const unanswered of pending.values()) this.#unanswered.delete(unanswered);
      connection.destroy();
    }
  }

  async #sendCalls(
    connection: Duplex,
    calls: readonly ClientCall[],
    timeoutS: number | undefined,
    pending: ReadonlyMap<number, Unanswered>,
    over: AbortSignal,
  ): Promise<void> {
    await writeFrame(connection, { call: 'execute', count: calls.length, timeoutS } satisfies Call);
    for (const [index, { signal, longestS: _, ...call }] of calls.entries()) {
      const abort = () => {
        const unanswered = pending.get(index);
        if (unanswered) unanswered.lastPing = this.#pingAfter(0);
        void writeFrame(connection, { abort: index } satisfies Abort);
      };
      await writeFrame(connection, { index, ...call } satisfies ToolCall);
      if (signal.aborted) abort();
      else signal.addEventListener('abort', abort, { once: true, signal: over });
    }
  }

  async #attach(signal: AbortSignal): Promise<void> {
    const owner = this.#open();
    this.#owner = owner;
    const frames = readFrames(owner, MAX_FRAME_BYTES);
    try {
      await orAborted(signal, async () => {
        await writeFrame(owner, { call: 'attach' } satisfies Call);
        const first = await frames.next();
        this.#attached = parseAttached(first.value);
      });
    } catch (error) {
      this.#lose('it did not take its owner');
      throw error;
    }
    void this.#readPongs(frames);
  }

  async #readPongs(frames: AsyncGenerator<unknown, void>): Promise<void> {
    try {
      for await (const frame of frames) {
        const { pong } = parsePong(frame);
        if (pong !== this.#pongCount++ || pong >= this.#pingCount)
          throw new ProtocolError('a ping was answered that was not sent');
        this.#pings.get(pong)?.();
      }
      this.#lose('its connection ended');
    } catch (error) {
      this.#lose((error as Error).message);
    }
  }

  /**
   * Counted in pings and not in time: if this process was paused, time has passed in which nobody could answer, but no
   * ping was sent.
   */
  #watch(): void {
    let silent = 0;
    const timer = setInterval(() => {
      if (silent >= this.#maxUnanswered) return this.#lose('it does not answer');
      for (const { lastPing } of this.#unanswered)
        if (this.#watchCount >= lastPing) return this.#lose('it does not end a call that had to be over');
      silent++;
      this.#watchCount++;
      void this.ping(this.lost).then(
        () => {
          silent = 0;
        },
        () => {},
      );
    }, this.#pingEveryMs);
    timer.unref();
    this.lost.addEventListener('abort', () => clearInterval(timer), { once: true });
  }

  /** Until it is removed from `#unanswered`, the server counts as lost when the time plus the grace is over. */
  #expect(withinMs: number): Unanswered {
    const unanswered = { lastPing: this.#pingAfter(withinMs) };
    this.#unanswered.add(unanswered);
    return unanswered;
  }

  #pingAfter(ms: number): number {
    return this.#watchCount + Math.ceil(ms / this.#pingEveryMs) + GRACE_PINGS;
  }

  #lose(reason: string): void {
    if (this.lost.aborted) return;
    this.#lost.abort(new ServerLost(reason));
    for (const connection of this.#connections) connection.destroy();
  }

  async #ask(call: Call): Promise<unknown> {
    const talk = await this.converse(call, undefined, 0);
    try {
      return await talk.next();
    } finally {
      talk.close();
    }
  }

  #open(): Duplex {
    this.lost.throwIfAborted();
    const connection = this.#connect();
    this.#connections.add(connection);
    connection.once('close', () => this.#connections.delete(connection));
    // Its reader handles the error; here it only must not be unhandled.
    connection.on('error', () => {});
    return connection;
  }
}

async function orAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work(), aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
