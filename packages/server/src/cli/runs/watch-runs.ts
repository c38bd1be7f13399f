/**
 * `talaria runs --watch`: the runs as they change, until Ctrl-C. On a terminal they are a table that redraws itself.
 * Otherwise there is a line for each run, oldest first, and then for each change that the line shows.
 */
import { NotFoundError, type Run, type RunFilter, type Talaria } from '@talaria/client';
import { missingRoute } from '../client/missing-route.ts';
import { type EndingSignal, exitCodes, signalExitCodes } from '../exit-codes.ts';
import { LiveScreen } from '../screen/live-screen.ts';
import type { Terminal } from '../terminal.ts';
import { safeLine } from '../text/safe-text.ts';

export interface WatchRunsOptions {
  client: Talaria;
  terminal: Terminal;
  filter: Pick<RunFilter, 'status' | 'session_id' | 'job_id'>;
  /** How many runs are shown at the beginning, and how many the table has. */
  limit: number;
  /** Newest first. */
  table(runs: readonly Run[]): string;
  line(run: Run): string;
  /** Lines, also on a terminal. */
  lines: boolean;
}

interface View extends Disposable {
  /** Oldest first. */
  show(runs: readonly Run[]): void;
  /** The run does not fit the filter any more. */
  drop(run: Run): void;
  note(text: string): void;
}

export async function watchRuns(options: WatchRunsOptions): Promise<number> {
  const { client, terminal, filter, limit } = options;
  const left = new AbortController();
  using _signals = onSignals((exitCode) => left.abort(new Left(exitCode)));
  // The reader of the output (`| head`) has read enough.
  terminal.stdout.closed.addEventListener('abort', () => left.abort(new Left(exitCodes.ok)));
  const { signal } = left;
  const { stdout } = terminal;
  using view = stdout.canRedraw && !options.lines ? new TableView(options) : new LinesView(options);
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  const feed = client.feed({
    signal,
    reconnectTimeout: Number.POSITIVE_INFINITY,
    onConnection(change) {
      if (change.state === 'open') open();
      else view.note(`The connection is lost (${safeLine(change.error.message)}); trying again`);
    },
  });
  // After the feed has begun: what changes while the list is read comes in the feed.
  const listed = opened.then(async () => {
    const runs: Run[] = [];
    for await (const run of client.runs.list(
      { ...filter, view: 'head', limit: Math.min(limit, 200) },
      { signal },
    )) {
      if (runs.push(run) === limit) break;
    }
    view.show(runs.toReversed());
  });
  const follow = async (): Promise<void> => {
    for await (const { run } of feed) {
      await listed;
      if (fits(run, filter)) view.show([run]);
      else view.drop(run);
    }
  };
  try {
    await Promise.all([listed, follow()]);
    return exitCodes.ok;
  } catch (error) {
    if (error instanceof Left) return error.exitCode;
    if (!(error instanceof NotFoundError)) throw error;
    throw await missingRoute(client, 'This server has no feed of its runs');
  } finally {
    left.abort(new Left(exitCodes.ok));
  }
}

function fits(run: Run, { status, session_id, job_id }: WatchRunsOptions['filter']): boolean {
  return (
    (status === undefined || run.status === status) &&
    (session_id === undefined || run.session_id === session_id) &&
    (job_id === undefined || run.job_id === job_id)
  );
}

class TableView implements View {
  readonly #runs = new Map<string, Run>();
  readonly #screen: LiveScreen;
  readonly #options: WatchRunsOptions;
  #note = '';

  constructor(options: WatchRunsOptions) {
    this.#options = options;
    this.#screen = new LiveScreen(options.terminal.stdout);
    // It stays above the table, which must not begin at the top: tmux keeps in its history what is wiped from there.
    this.#screen.line('Runs as they change; Ctrl-C ends');
    this.#screen.setFooter(() => this.#rows());
  }

  show(runs: readonly Run[]): void {
    for (const run of runs) this.#runs.set(run.run_id, run);
    this.#note = '';
    this.#screen.refresh();
  }

  drop(run: Run): void {
    this.#runs.delete(run.run_id);
    this.#screen.refresh();
  }

  note(text: string): void {
    this.#note = text;
    this.#screen.refresh();
  }

  /** The table stays when the command ends. */
  [Symbol.dispose](): void {
    const table = this.#rows().join('\n');
    this.#screen.setFooter(() => []);
    this.#screen.line(table);
    this.#screen[Symbol.dispose]();
  }

  #rows(): string[] {
    const { table, limit, terminal } = this.#options;
    // Its heading, a note, and the row of the cursor.
    const room = Math.max(1, Math.min(limit, terminal.stdout.rows - 3));
    const newest = [...this.#runs.values()].sort((a, b) => b.created_at - a.created_at).slice(0, room);
    return [...table(newest).split('\n'), ...(this.#note === '' ? [] : [this.#note])];
  }
}

class LinesView implements View {
  readonly #options: WatchRunsOptions;
  readonly #shown = new Map<string, string>();

  constructor(options: WatchRunsOptions) {
    this.#options = options;
  }

  show(runs: readonly Run[]): void {
    for (const run of runs) {
      const line = this.#options.line(run);
      if (this.#shown.get(run.run_id) === line) continue;
      this.#shown.set(run.run_id, line);
      this.#options.terminal.out(line);
    }
  }

  drop(run: Run): void {
    this.#shown.delete(run.run_id);
  }

  note(text: string): void {
    this.#options.terminal.err(text);
  }

  [Symbol.dispose](): void {}
}

class Left extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super('left');
    this.exitCode = exitCode;
  }
}

function onSignals(leave: (exitCode: number) => void): Disposable {
  const onSignal = (signal: NodeJS.Signals): void => leave(signalExitCodes[signal as EndingSignal]);
  const signals = Object.keys(signalExitCodes) as EndingSignal[];
  for (const signal of signals) process.on(signal, onSignal);
  return {
    [Symbol.dispose]() {
      for (const signal of signals) process.off(signal, onSignal);
    },
  };
}
