/**
 * A backend's side of the protocol: one container's sandbox server, held from `attach` until it is lost.
 *
 *   attached ─its connection ends, or it leaves three pings unanswered→ lost
 *
 * Lost is for good. Every call under way then ends at once: an execution without its result, anything else with an
 * error. So no call waits longer for a container that is dead or frozen than the pings take to show it, and none needs
 * to know how long the command it waits for may take.
 */
import type { Socket } from 'node:net';
import { readFrames, writeFrame } from './frames.ts';
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
const MAX_UNANSWERED = 3;

export interface ClientCall extends Omit<ToolCall, 'index'> {
  /** Aborting ends this call alone. */
  signal: AbortSignal;
}

export class SandboxClient {
  readonly #connect: () => Socket;
  readonly #connections = new Set<Socket>();
  readonly #lost = new AbortController();
  readonly #pings = new Map<number, () => void>();
  #pingCount = 0;
  #owner: Socket | undefined;
  #attached: Attached | undefined;

  private constructor(connect: () => Socket) {
    this.#connect = connect;
  }

  static async attach(
    connect: () => Socket,
    signal: AbortSignal,
    { pingEveryMs = PING_EVERY_MS }: { pingEveryMs?: number } = {},
  ): Promise<SandboxClient> {
    const client = new SandboxClient(connect);
    await client.#attach(signal);
    client.#watch(pingEveryMs);
    return client;
  }

  /** What holds its commands, as it said when it took its owner. */
  get attached(): Attached {
    if (!this.#attached) throw new Error('not attached');
    return this.#attached;
  }

  /** Aborted when the server is lost. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Lets go of the server, which ends then. */
  detach(): void {
    this.#lose('it was given up');
  }

  /** Resolves when the server has answered, however much it has to do. */
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

  /** Calls `onResult` for each call that is answered; those that are not were lost with the server. */
  async execute(
    calls: readonly ClientCall[],
    timeoutS: number | undefined,
    onResult: (result: ToolResult) => void,
  ): Promise<void> {
    if (this.lost.aborted) return;
    const connection = this.#open();
    const stopListening = new AbortController();
    try {
      void this.#sendCalls(connection, calls, timeoutS, stopListening.signal);
      let unanswered = calls.length;
      for await (const frame of readFrames(connection, MAX_FRAME_BYTES)) {
        onResult(parseToolResult(frame));
        unanswered--;
      }
      if (unanswered > 0) this.#lose('it left calls unanswered');
    } catch (error) {
      // Whether it broke off or broke the protocol, this server is not to be used again.
      this.#lose((error as Error).message);
    } finally {
      stopListening.abort();
      connection.destroy();
    }
  }

  async #sendCalls(
    connection: Socket,
    calls: readonly ClientCall[],
    timeoutS: number | undefined,
    ended: AbortSignal,
  ): Promise<void> {
    await writeFrame(connection, { call: 'execute', count: calls.length, timeoutS } satisfies Call);
    for (const [index, { signal, ...call }] of calls.entries()) {
      const abort = () => void writeFrame(connection, { abort: index } satisfies Abort);
      await writeFrame(connection, { index, ...call } satisfies ToolCall);
      if (signal.aborted) abort();
      else signal.addEventListener('abort', abort, { once: true, signal: ended });
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
      for await (const frame of frames) this.#pings.get(parsePong(frame).pong)?.();
      this.#lose('its connection ended');
    } catch (error) {
      this.#lose((error as Error).message);
    }
  }

  /**
   * Counted in pings and not in time: after a pause of this process, time has passed in which nobody could answer, but
   * no ping was sent.
   */
  #watch(everyMs: number): void {
    let unanswered = 0;
    const timer = setInterval(() => {
      if (unanswered >= MAX_UNANSWERED) return this.#lose('it does not answer');
      unanswered++;
      void this.ping(this.lost).then(
        () => {
          unanswered = 0;
        },
        () => {},
      );
    }, everyMs);
    timer.unref();
    this.lost.addEventListener('abort', () => clearInterval(timer), { once: true });
  }

  #lose(reason: string): void {
    if (this.lost.aborted) return;
    this.#lost.abort(new Error(`the sandbox server is lost: ${reason}`));
    for (const connection of this.#connections) connection.destroy();
  }

  async #ask(call: Call): Promise<unknown> {
    const connection = this.#open();
    try {
      await writeFrame(connection, call);
      for await (const frame of readFrames(connection, MAX_FRAME_BYTES)) return frame;
      throw new Error('the connection ended before the answer came');
    } catch (error) {
      throw this.lost.aborted ? this.lost.reason : error;
    } finally {
      connection.destroy();
    }
  }

  #open(): Socket {
    this.lost.throwIfAborted();
    const connection = this.#connect();
    this.#connections.add(connection);
    connection.once('close', () => this.#connections.delete(connection));
    // Whoever reads from it hears of it; here it only must not be unhandled.
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
