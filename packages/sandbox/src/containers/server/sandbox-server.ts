/**
 * The server inside a container: a local backend (whose machine is the container) behind a socket. protocol.ts has the
 * protocol. A connection that violates the protocol is closed; the others continue.
 */
import { createServer, type Server } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Slot, ToolBackend } from '../../backend.ts';
import { Channels } from '../relay/channels.ts';
import { GREETING } from '../relay/reach-by-relay.ts';
import { ProtocolError, readFrames, writeFrame } from './frames.ts';
import {
  type Attached,
  type Call,
  type Closed,
  type Failed,
  MAX_FRAME_BYTES,
  type Opened,
  type Pong,
  parseCall,
  parsePing,
  parseToolCall,
  type ToolCall,
  type ToolResult,
} from './protocol.ts';
import { encodePart, type Part, type WorkspaceCall } from './workspace-calls.ts';
import { type PackingWorkspaces, serveWorkspace } from './workspace-service.ts';

type Frames = AsyncGenerator<unknown, void>;

const OWNER_WITHIN_MS = 60_000;

/** A backend whose workspaces can move elsewhere. */
export interface ServedBackend extends ToolBackend {
  readonly workspaces: PackingWorkspaces;
}

export class SandboxServer {
  readonly #backend: ServedBackend;
  readonly #end: () => void;
  readonly #slots = new Map<string, Slot>();
  readonly #deadline: NodeJS.Timeout;

  /** `end` is called when the connection of its owner has ended, or when no owner has come in time. */
  constructor(backend: ServedBackend, end: () => void) {
    this.#backend = backend;
    this.#end = end;
    this.#deadline = setTimeout(end, OWNER_WITHIN_MS);
  }

  /** `multiplexed`: every connection carries many (relay/channels.ts). */
  listen(path: string, { multiplexed = false } = {}): Promise<Server> {
    const server = createServer((connection) => {
      if (!multiplexed) return void this.#serve(connection);
      connection.write(GREETING);
      new Channels(connection, (channel) => void this.#serve(channel));
    });
    return new Promise((resolve, reject) => {
      server.once('error', reject).listen(path, () => resolve(server));
    });
  }

  async #serve(connection: Duplex): Promise<void> {
    // A broken connection counts as ended; the frames stop.
    connection.on('error', () => {});
    const frames = readFrames(connection, MAX_FRAME_BYTES);
    try {
      const first = await frames.next();
      if (first.done) return;
      const call = parseCall(first.value);
      await this.#answer(call, frames, connection);
    } catch (error) {
      if (error instanceof ProtocolError) console.error(`A connection was closed: ${error.message}.`);
    } finally {
      connection.destroy();
    }
  }

  async #answer(call: Call, frames: Frames, connection: Duplex): Promise<void> {
    switch (call.call) {
      case 'attach':
        return await this.#attach(frames, connection);
      case 'open':
        await writeFrame(connection, await orFailed(this.#open(call.trajectoryId)));
        return await ended(connection);
      case 'close':
        await writeFrame(connection, await orFailed(this.#close(call.slotId)));
        return await ended(connection);
      case 'execute':
        return await this.#execute(call, frames, connection);
      default:
        return await this.#serveWorkspace(call, frames, connection);
    }
  }

  async #attach(frames: Frames, connection: Duplex): Promise<void> {
    clearTimeout(this.#deadline);
    const { isolation, limits } = this.#backend.stats();
    try {
      await writeFrame(connection, { isolation, limits } satisfies Attached);
      for await (const frame of frames) {
        await writeFrame(connection, { pong: parsePing(frame).ping } satisfies Pong);
      }
    } finally {
      this.#end();
    }
  }

  async #serveWorkspace(call: WorkspaceCall, frames: Frames, connection: Duplex): Promise<void> {
    const closed = new AbortController();
    connection.once('close', () => closed.abort());
    const say = (part: Part) => writeFrame(connection, encodePart(part));
    await serveWorkspace(this.#backend.workspaces, call, frames, say, closed.signal);
    if (!closed.signal.aborted) await ended(connection);
  }

  async #open(trajectoryId: string): Promise<Opened> {
    const slot = await this.#backend.acquire(trajectoryId);
    this.#slots.set(slot.slotId, slot);
    return { slotId: slot.slotId, workspaceDir: slot.workspaceDir };
  }

  async #close(slotId: string): Promise<Closed> {
    const slot = this.#slots.get(slotId);
    if (slot) await this.#backend.release(slot);
    this.#slots.delete(slotId);
    return { closed: true };
  }

  async #execute(
    { count, timeoutS }: Extract<Call, { call: 'execute' }>,
    frames: Frames,
    connection: Duplex,
  ): Promise<void> {
    const running = new Map<number, AbortController>();
    connection.once('close', () => {
      for (const controller of running.values()) controller.abort();
    });
    let unfinished = count;
    for await (const frame of frames) {
      const call = parseToolCall(frame);
      if ('abort' in call) {
        running.get(call.abort)?.abort();
        continue;
      }
      const controller = new AbortController();
      running.set(call.index, controller);
      void this.#run(call, timeoutS, controller.signal).then(async (result) => {
        running.delete(call.index);
        await writeFrame(connection, result);
        if (--unfinished === 0) connection.end();
      });
    }
  }

  async #run(
    { index, slotId, tool, args }: ToolCall,
    timeoutS: number | undefined,
    signal: AbortSignal,
  ): Promise<ToolResult> {
    // A slot that does not exist any more gets an answer too, from the backend.
    const slot = this.#slots.get(slotId) ?? ({ slotId } as Slot);
    const [result] = await this.#backend.executeBatch([[slot, tool, args as Record<string, unknown>]], {
      timeoutS,
      signal,
    });
    if (!result) throw new Error('the backend gave no result');
    const { slotId: _, ...rest } = result;
    return { index, ...rest };
  }
}

async function orFailed<T>(work: Promise<T>): Promise<T | Failed> {
  try {
    return await work;
  } catch (error) {
    return { failed: (error as Error).message };
  }
}

/** Written data is sent before the connection is closed. */
function ended(connection: Duplex): Promise<void> {
  return new Promise((resolve) => connection.end(resolve));
}
