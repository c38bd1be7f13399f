/**
 * A run on one of several servers. Its client retries on other servers until it has an answer, and several clients
 * watch it through different servers and come back whenever their server does. And the checks that must hold at its
 * end.
 *
 * Its tools leave their marks outside the workspace, which does not move when another server takes the run over; so the
 * servers work without isolation.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isTerminalEvent, type RunCreated, type RunEvent } from '@talaria/protocol';
import { expect } from 'vitest';
import { isConnectionLoss } from '../support/api.ts';
import { type ScriptedTool, type Step, script } from '../support/model-server.ts';
import type { KillableServer } from './killable-server.ts';
import { ofKind, settled } from './marked-run.ts';

/** How long a client waits before it retries. */
const AGAIN_MS = 100;

/** A call that leaves this mark, which is unique in the run, and then does the rest. */
export type Marking = (mark: string, rest?: string) => ScriptedTool;

export interface WatchedRunOptions {
  key: string;
  steps(marking: Marking): Step[];
  marksDir: string;
  servers: readonly KillableServer[];
  /** Through which it is watched. */
  watched: readonly KillableServer[];
  /** The server to ask next. */
  pick(servers: readonly KillableServer[]): KillableServer;
}

export class WatchedRun {
  readonly #options: WatchedRunOptions;
  readonly #marksPath: string;
  readonly #steps: Step[];
  readonly #ended = Promise.withResolvers<void>();
  /** What each watcher has seen, in the order it saw it. */
  readonly #seen: RunEvent[][];
  readonly created: Promise<string>;
  /** Resolves when every watcher has seen the end. */
  readonly watched: Promise<void>;
  runId = '';

  constructor(options: WatchedRunOptions) {
    this.#options = options;
    this.#marksPath = join(options.marksDir, options.key);
    this.#steps = options.steps((mark, rest = '') => ({
      name: 'terminal',
      arguments: { command: `echo ${mark} >> ${this.#marksPath}${rest}` },
    }));
    this.#seen = options.watched.map(() => []);
    this.created = this.#create();
    this.watched = this.#watchAll();
    this.watched.catch(this.#ended.reject);
    this.#ended.promise.catch(() => {});
  }

  /** Resolves when the first watcher has seen the end. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Its history, if not every watcher has seen the end. */
  get unfinished(): string | undefined {
    const isOver = (seen: readonly RunEvent[]) => isTerminalEvent(seen.at(-1)?.event ?? '');
    return this.#seen.every(isOver) ? undefined : `${this.runId}\n${this.#story()}`;
  }

  /** What any of the watchers has seen. */
  get seen(): readonly RunEvent[] {
    return this.#seen.reduce((most, seen) => (seen.length > most.length ? seen : most), []);
  }

  /** The marks of its tools, on whichever server they ran. */
  get marks(): string[] {
    return existsSync(this.#marksPath) ? readFileSync(this.#marksPath, 'utf8').trim().split('\n') : [];
  }

  /** The server on which it has a workspace. */
  get owner(): KillableServer | undefined {
    return this.#options.servers.find((server) => existsSync(this.workspaceOn(server)));
  }

  workspaceOn(server: KillableServer): string {
    return join(server.process.dataDir, 'workspaces', `t-${this.runId}`);
  }

  /**
   * Every watcher saw all events once; the run completed once; each call began and ended once; its effect happened at
   * most once, and exactly once if that is what was reported.
   */
  check(): void {
    const steps = this.#steps;
    const events = this.#seen[0]!;
    try {
      for (const seen of this.#seen) {
        expect(seen.map(({ seq }) => seq)).toEqual(seen.map((_, index) => index));
        expect(seen).toEqual(events);
      }
      expect(events.filter(({ event }) => isTerminalEvent(event))).toHaveLength(1);
      expect(events.at(-1)).toMatchObject({ event: 'run.completed', output: steps.at(-1)?.text });
      expect(settled(events).text).toBe(steps.map(({ text = '' }) => text).join(''));
      this.#checkCalls(events);
    } catch (error) {
      throw new Error(`${this.runId}: ${(error as Error).message}\n${this.#story()}`, { cause: error });
    }
  }

  #checkCalls(events: readonly RunEvent[]): void {
    const calls = this.#steps.flatMap(({ tools = [] }) => tools);
    const started = ofKind(events, 'tool.started');
    const completed = ofKind(events, 'tool.completed');
    expect(started).toHaveLength(calls.length);
    expect(completed).toHaveLength(calls.length);
    for (const call of calls) {
      const [start, again] = started.filter(({ preview }) => preview.includes(markOf(call)));
      expect(again).toBeUndefined();
      const [outcome] = completed.filter(({ tool_call_id }) => tool_call_id === start?.tool_call_id);
      const times = this.marks.filter((mark) => mark === markOf(call)).length;
      expect(outcome?.error ? [0, 1] : [1], markOf(call)).toContain(times);
    }
  }

  async #create(): Promise<string> {
    const { key, servers, pick } = this.#options;
    const input = script(this.#steps);
    for (;;) {
      const up = servers.filter((server) => server.isUp);
      const answer =
        up.length === 0
          ? undefined
          : await pick(up)
              .api.post<RunCreated>('/v1/runs', { input }, { 'idempotency-key': key })
              .catch(unlessPassing);
      if (answer?.status === 202) {
        this.runId = answer.body.run_id;
        return this.runId;
      }
      if (answer !== undefined && answer.status !== 503) {
        throw new Error(`create: ${answer.status} ${JSON.stringify(answer.body)}`);
      }
      await delay(AGAIN_MS);
    }
  }

  async #watchAll(): Promise<void> {
    await this.created;
    await Promise.all(this.#options.watched.map((server, i) => this.#watch(server, this.#seen[i]!)));
  }

  async #watch(server: KillableServer, seen: RunEvent[]): Promise<void> {
    for (;;) {
      await server.whenUp();
      const after = seen.at(-1)?.seq;
      await server.api
        .stream(this.runId, {
          ...(after === undefined ? {} : { after }),
          onFrame: ({ event }) => seen.push(event),
        })
        .catch(unlessPassing);
      if (isTerminalEvent(seen.at(-1)?.event ?? '')) break;
      await delay(AGAIN_MS);
    }
    this.#ended.resolve();
  }

  #story(): string {
    const story = (events: readonly RunEvent[]) =>
      events.map(({ seq, event }) => `${seq} ${event}`).join(', ');
    return [`marks: ${this.marks.join(', ')}`, ...this.#seen.map((seen) => `seen: ${story(seen)}`)].join(
      '\n',
    );
  }
}

function markOf({ arguments: words }: ScriptedTool): string {
  return /echo (\w+) /.exec((words as { command: string }).command)![1]!;
}

/** Whether an error looks like that of a server or a database that is away for a while. */
function unlessPassing(error: unknown): undefined {
  if (isConnectionLoss(error) || /^Error: events: 503/.test(String(error))) return undefined;
  throw error;
}
