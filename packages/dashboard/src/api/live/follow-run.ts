/**
 * The events of a run as they come, each once and in order, to its end.
 *
 *   a place is free ──▶ a stream ──hidden for a while──▶ asleep ──shown──▶ is a place free?
 *   none is free ──▶ asks every two seconds, and each time whether a place is free (stream-places.ts)
 *
 * Whatever is changed, the next connection begins after the last event, so nothing is lost.
 */
import { APIError, isTerminalStatus, type Run, type RunEvent, type Talaria } from '@talaria/client';
import { type StreamPlace, takePlace } from './stream-places.ts';
import { pause, untilVisible } from './waiting.ts';

/** `asking`: without a stream, every two seconds. `asleep`: nobody looks at the page. */
export type RunLink = 'live' | 'asking' | 'lost' | 'asleep';

export interface FollowRunOptions {
  signal: AbortSignal;
  /** The last event that the caller has. */
  after?: number | undefined;
  onEvents: (events: readonly RunEvent[]) => void;
  onLink?: (link: RunLink) => void;
  /** Gets the head of the run whenever it was asked for. */
  onHead?: (run: Run) => void;
}

const ASK_EVERY_MS = 2_000;

/** Resolves after the last event of the run. */
export async function followRun(client: Talaria, runId: string, options: FollowRunOptions): Promise<void> {
  const { signal, onEvents, onLink, onHead } = options;
  let cursor = options.after;

  /** Reads up to an event, or to the end of the run. */
  const read = async (connected: Parameters<Talaria['runs']['streamEvents']>[1], until: number) => {
    const stream = client.runs.streamEvents(runId, { ...connected, after: cursor });
    for await (const events of stream.batches()) {
      cursor = events.at(-1)!.seq;
      onEvents(events);
      if (cursor >= until) return;
    }
  };

  /** Whether the run is over. */
  const hold = async ({ lost, release }: StreamPlace): Promise<boolean> => {
    try {
      await read(
        {
          signal: AbortSignal.any([signal, lost]),
          reconnectTimeout: Number.POSITIVE_INFINITY,
          onConnection: ({ state }) => onLink?.(state === 'open' ? 'live' : 'lost'),
        },
        Number.POSITIVE_INFINITY,
      );
      return true;
    } catch (error) {
      if (signal.aborted || !lost.aborted) throw error;
      return false;
    } finally {
      release();
    }
  };

  const ask = async (): Promise<boolean> => {
    try {
      const head = await client.runs.get(runId, { signal, maxRetries: 0 });
      onHead?.(head);
      const isOver = isTerminalStatus(head.status);
      // A server that does not number events cannot be asked for the next ones.
      const until = isOver || !isNumbered(head) ? Number.POSITIVE_INFINITY : (head.last_seq ?? -1);
      if (until > (cursor ?? -1)) await read({ signal, reconnectTimeout: 0 }, until);
      onLink?.('asking');
      return until === Number.POSITIVE_INFINITY;
    } catch (error) {
      if (signal.aborted || (error instanceof APIError && !isPassing(error))) throw error;
      onLink?.('lost');
      return false;
    }
  };

  for (;;) {
    const place = await takePlace();
    signal.throwIfAborted();
    if (place === undefined ? await ask() : await hold(place)) return;
    if (document.hidden) {
      onLink?.('asleep');
      await untilVisible(signal);
    } else if (place === undefined) await pause(ASK_EVERY_MS, signal);
    signal.throwIfAborted();
  }
}

function isNumbered({ last_seq, steps }: Run): boolean {
  return last_seq !== undefined || steps !== undefined;
}

function isPassing({ status }: APIError): boolean {
  return status >= 500 || status === 429;
}
