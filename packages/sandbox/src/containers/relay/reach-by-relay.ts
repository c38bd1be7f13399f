/**
 * The way into a container for platforms that offer only the input and output of one program that runs there, such as
 * Nomad's `alloc exec` and the `exec` of a pod. The driver starts the server inside with `multiplexed`. Then it starts
 * `<program> relay <socket>` in the container, and hands over the program's streams as one.
 *
 * That one stream carries every connection to the server inside (channels.ts). So an exec is paid for once per container.
 */
import type { Duplex } from 'node:stream';
import type { Reached } from '../container-driver.ts';
import { Channels } from './channels.ts';

/**
 * How long such a container may be silent. We notice a broken stream at once. A quiet stream may lead to a container that answers
 * late because it has a small share of a busy machine. To take it for dead would lose its work.
 */
export const FAR_ANSWERS_WITHIN_MS = 20_000;

/** The first thing that the server inside says on such a stream. */
export const GREETING = 'talaria channels 1\n';

/** The program ended before it said anything. */
export class RelayEndedAtOnce extends Error {
  constructor() {
    super('the relay ended at once');
  }
}

/** Resolves when the server inside has greeted. The stream is not the caller's any more, also when this rejects. */
export async function reachByRelay(stream: Duplex, signal: AbortSignal): Promise<Reached> {
  // The callers that wait for it handle the error; here it only must not be unhandled.
  stream.on('error', () => {});
  try {
    await greeted(stream, signal);
  } catch (error) {
    stream.destroy();
    throw error;
  }
  const channels = new Channels(stream);
  return { connect: () => channels.open(), close: async () => channels.close() };
}

function greeted(stream: Duplex, signal: AbortSignal): Promise<void> {
  let heard = Buffer.alloc(0);
  return new Promise<void>((resolve, reject) => {
    const settle = (error?: Error) => {
      stream.off('readable', read).off('error', settle).off('end', ended).off('close', ended);
      signal.removeEventListener('abort', abort);
      if (error) reject(error);
      else resolve();
    };
    const read = () => {
      for (let byte = stream.read(1); byte; byte = stream.read(1)) {
        heard = Buffer.concat([heard, byte]);
        if (heard.length < GREETING.length) continue;
        return settle(heard.equals(Buffer.from(GREETING)) ? undefined : unexpected(heard));
      }
    };
    const ended = () => settle(heard.length > 0 ? unexpected(heard) : new RelayEndedAtOnce());
    const abort = () => settle(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    stream.on('readable', read).on('error', settle).on('end', ended).on('close', ended);
    if (stream.destroyed) settle(stream.errored ?? new RelayEndedAtOnce());
    if (signal.aborted) abort();
  });
}

function unexpected(heard: Buffer): Error {
  return new Error(`expected the greeting of the relay, got: ${heard.toString('utf8').trim()}`);
}
