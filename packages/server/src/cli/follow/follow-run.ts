/**
 * Follows a run to its end, or until the person leaves: shows its events, asks for its approvals, and returns the exit
 * code for the way it ended.
 */
import {
  APIError,
  isTerminalEvent,
  isTerminalStatus,
  type Run,
  StreamInterruptedError,
  type Talaria,
} from '@talaria/client';
import { exitCodes } from '../exit-codes.ts';
import type { Terminal } from '../terminal.ts';
import { nextCommand } from '../text/next-command.ts';
import { safeLine } from '../text/safe-text.ts';
import { handleInterrupts } from './interrupts.ts';
import { Questions } from './questions.ts';
import { QueueNews } from './queue-news.ts';
import type { RunView } from './run-view.ts';

export interface FollowOptions {
  readonly client: Talaria;
  readonly runId: string;
  readonly after?: number | undefined;
  readonly view: RunView;
  readonly terminal: Terminal;
  /** The flag that named the server. */
  readonly server: string | undefined;
}

/** A server that is updated or moved is back by then; somebody who does not want to wait has Ctrl-C. */
const RECONNECT_MS = 15 * 60_000;

/** The end of a run is not kept waiting for what only completes its last line. */
const CREATION_TIMEOUT_MS = 5_000;

/** A second Ctrl-C has to stop the run, also over a bad connection. Sending a stop twice does no harm. */
const STOP_RETRIES = 3;

export async function followRun(options: FollowOptions): Promise<number> {
  const { client, runId, view, terminal } = options;
  const comeBack = `Come back: ${nextCommand(`watch ${runId}`, options.server)}`;
  const left = new AbortController();

  using _interrupts = handleInterrupts({
    onLeaving: () => view.note(`Leaving; the run continues. Ctrl-C again stops it.\n${comeBack}`),
    onStop() {
      view.stopping();
      client.runs.stop(runId, { maxRetries: STOP_RETRIES }).catch((error: unknown) => {
        // It has ended meanwhile; its last event will show that.
        if (error instanceof APIError && error.status === 404) return;
        view.note(`The run could not be stopped: ${safeLine((error as Error).message)}`);
      });
    },
    onLeft: (exitCode) => left.abort(new Left(exitCode)),
  });
  // The reader of the output (`| head`) has read enough.
  terminal.stdout.closed.addEventListener('abort', () => left.abort(new Left(exitCodes.ok)));

  const { signal } = left;
  const questions = new Questions(options, signal);
  const creation = tellCreation(options, signal);
  using queue = new QueueNews(options, signal);
  try {
    const { after } = options;
    for await (const event of client.runs.streamEvents(runId, {
      after,
      signal,
      reconnectTimeout: RECONNECT_MS,
      onConnection: (change) => view.connection(change),
    })) {
      if (isTerminalEvent(event.event)) await creation;
      queue.see(event);
      view.show(event);
      questions.see(event);
      if (isTerminalEvent(event.event)) return outcomeOf(event.event);
    }
    // Older servers end the stream of a stopped run without a last event.
    const run = await client.runs.wait(runId, { signal });
    await creation;
    return endAs(run, view);
  } catch (error) {
    if (error instanceof StreamInterruptedError) {
      // The status of the run may be known, though not its details.
      const run = await client.runs.get(runId).catch(() => undefined);
      if (run !== undefined && isTerminalStatus(run.status)) return endAs(run, view);
    }
    if (!(error instanceof Left)) throw error;
    if (error.exitCode !== exitCodes.interrupted && error.exitCode !== exitCodes.ok) {
      view.note(`Leaving; the run continues.\n${comeBack}`);
    }
    return error.exitCode;
  } finally {
    questions.settle();
    left.abort(new Left(exitCodes.ok));
  }
}

/** The events do not say when the run was created: it may have waited for a worker before the first one. */
async function tellCreation({ client, runId, view }: FollowOptions, signal: AbortSignal): Promise<void> {
  if (view.created === undefined) return;
  const options = { signal, timeout: CREATION_TIMEOUT_MS };
  const run = await client.runs.head(runId, options).catch(() => undefined);
  // Servers of the older dialect send none.
  if (run?.created_at !== undefined) view.created(run.created_at);
}

class Left extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super('left');
    this.exitCode = exitCode;
  }
}

function endAs(run: Run, view: RunView): number {
  view.end(run);
  return outcomeOf(`run.${run.status}`);
}

function outcomeOf(event: string): number {
  if (event === 'run.completed') return exitCodes.ok;
  return event === 'run.cancelled' ? exitCodes.runCancelled : exitCodes.runFailed;
}
