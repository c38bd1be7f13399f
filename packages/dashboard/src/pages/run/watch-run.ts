/**
 * Follows one run: its head and its events, folded into a transcript.
 *
 *   the head ──▶ (an evicted run: nothing more)
 *            ──▶ (a long run: its last events, shown at once) ──▶ all events from the first ──▶ ended
 *
 * The state of the connection (api/live/follow-run.ts) is never a state of the run.
 */
import { type ReadonlySignal, signal } from '@preact/signals';
import { isTerminalStatus, type Run, type RunEvent, type Talaria } from '@talaria/client';
import { findRun } from '../../api/find-run.ts';
import { followRun, type RunLink } from '../../api/live/follow-run.ts';
import { untilVisible } from '../../api/live/waiting.ts';
import { noteFailure } from '../../api/session.ts';
import { Transcript } from './transcript/transcript.ts';

/** `evicted`: there are no events to read. */
export type Link = RunLink | 'connecting' | 'ended' | 'evicted' | 'failed';

export interface WatchedRun {
  run: ReadonlySignal<Run | undefined>;
  transcript: ReadonlySignal<Transcript>;
  /** Grows when the transcript has changed, once per frame at most. */
  revision: ReadonlySignal<number>;
  link: ReadonlySignal<Link>;
  /** Only the end of a long run is shown yet. */
  partial: ReadonlySignal<boolean>;
  error: ReadonlySignal<unknown>;
  /** Asks for the head again. */
  refresh(): void;
  retry(): void;
  stop(): void;
}

/** A run with more events than this shows its end first. */
const LONG = 3_000;
const END_EVENTS = 500;

const HEAD_EVERY_MS = 2_000;

/** How long the rest of a long run waits until its end is drawn. */
const PAINT_MAX_MS = 200;

export function watchRun(client: Talaria, runId: string): WatchedRun {
  const run = signal<Run | undefined>(undefined);
  const transcript = signal(new Transcript());
  const revision = signal(0);
  const link = signal<Link>('connecting');
  const partial = signal(false);
  const error = signal<unknown>(undefined);
  const left = new AbortController();
  let reading = new AbortController();
  let frame: number | undefined;
  let headTimer: ReturnType<typeof setTimeout> | undefined;

  const changed = () => {
    frame ??= requestAnimationFrame(() => {
      frame = undefined;
      revision.value++;
    });
  };
  const readHead = async () => {
    const head = await findRun(client, runId, { signal: left.signal });
    run.value = head;
    // No event tells when its place in the queue changes.
    if (head.queue !== undefined) untilVisible(left.signal).then(refresh);
    return head;
  };
  const refresh = () => {
    if (left.signal.aborted) return;
    headTimer ??= setTimeout(() => {
      headTimer = undefined;
      readHead().catch(() => {});
    }, HEAD_EVERY_MS);
  };

  /** The last events, so that nobody has to wait for all of them to see how a run ended. */
  const readEnd = async (last: number, signal: AbortSignal) => {
    const end = new Transcript(last - END_EVENTS);
    const stream = client.runs.streamEvents(runId, { signal, after: last - END_EVENTS, reconnectTimeout: 0 });
    for await (const events of stream.batches()) {
      end.add(events);
      if (end.lastSeq >= last) break;
    }
    return end;
  };

  const read = async (signal: AbortSignal) => {
    const head = await readHead();
    if (head.evicted) {
      link.value = 'evicted';
      return;
    }
    const last = head.last_seq ?? 0;
    let whole = transcript.peek();
    if (last > LONG && whole.events.length === 0) {
      partial.value = true;
      const end = await readEnd(last, signal).catch(() => undefined);
      signal.throwIfAborted();
      whole = new Transcript();
      if (end !== undefined) transcript.value = end;
      changed();
      await painted();
      signal.throwIfAborted();
    }
    await follow(whole, Math.max(last, 0), signal);
  };

  const follow = async (whole: Transcript, until: number, signal: AbortSignal) => {
    const take = (events: readonly RunEvent[]) => {
      whole.add(events);
      if (partial.peek()) {
        if (whole.lastSeq < until) return;
        partial.value = false;
      }
      transcript.value = whole;
      changed();
      // Only the head says what waits behind a question.
      if (events.at(-1)?.event === 'approval.request') readHead().catch(() => {});
      else if (events.some(({ event }) => event !== 'message.delta')) refresh();
    };
    await followRun(client, runId, {
      signal,
      after: whole.events.length === 0 ? undefined : whole.lastSeq,
      onEvents: take,
      onLink: (state) => {
        link.value = state;
      },
      onHead: (head) => {
        run.value = head;
      },
    });
    transcript.value = whole;
    partial.value = false;
    changed();
    link.value = 'ended';
    await readHead();
  };

  const begin = () => {
    reading.abort();
    reading = new AbortController();
    const signal = AbortSignal.any([reading.signal, left.signal]);
    error.value = undefined;
    link.value = 'connecting';
    read(signal).catch((failure) => {
      if (signal.aborted) return;
      noteFailure(failure);
      error.value = failure;
      link.value = 'failed';
    });
  };

  begin();

  return {
    run,
    transcript,
    revision,
    link,
    partial,
    error,
    refresh,
    retry: begin,
    stop() {
      clearTimeout(headTimer);
      if (frame !== undefined) cancelAnimationFrame(frame);
      left.abort();
    },
  };
}

/** When the browser has shown what changed, or would not: a hidden page draws nothing. */
function painted(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, PAINT_MAX_MS);
    requestAnimationFrame(() => setTimeout(resolve));
  });
}

/** The state as the events tell it, which may be newer than the head. */
export function statusOf(run: Run, transcript: Transcript): Run['status'] {
  const { end, pending } = transcript;
  if (end !== undefined) return end.event.event.slice('run.'.length) as Run['status'];
  if (isTerminalStatus(run.status) || run.status === 'stopping') return run.status;
  if (pending.length > 0) return 'waiting_for_approval';
  return run.status === 'waiting_for_approval' ? 'running' : run.status;
}
