/**
 * The server that the suite runs against, and the few ways in which its topics use it. A topic knows a base URL, keys
 * and the scripted model that the server under test talks to; nothing else about the server.
 */
import { randomUUID } from 'node:crypto';
import type { ApprovalRequest, Run } from '@talaria/protocol';
import {
  type ModelServer,
  type RecordedRequest,
  type ScriptedTool,
  type Step,
  script,
} from '../support/model-server.ts';
import { isOnPostgres } from '../support/store.ts';
import { waitFor } from '../support/wait-for.ts';
import { CheckedApi } from './checked-api.ts';

export interface Target {
  baseUrl: string;
  /** Absent if the server is open. */
  key?: string | undefined;
  /** A second key of the same server, to test what one key may not see of another's. */
  otherKey?: string | undefined;
  model: ModelServer;
}

export type GetTarget = () => Target;

/**
 * The tags of a large test that shows no more of a store than the journal contract does for both drivers: on Postgres it is
 * a soak test.
 */
export const largeTags = (): string[] => (isOnPostgres() ? ['soak'] : []);

export const MISSING_RUN = `run_${'0'.repeat(32)}`;

export function apiOf({ baseUrl, key }: Target): CheckedApi {
  return new CheckedApi(baseUrl, key);
}

export function say(text: string): string {
  return script([{ text }]);
}

export function terminal(command: string): ScriptedTool {
  return { name: 'terminal', arguments: { command } };
}

/** A prompt whose first step calls these commands at once, and whose second says `done`. */
export function commands(...list: string[]): string {
  return script([{ tools: list.map(terminal) }, { text: 'done' }]);
}

/** The request that the script in `prompt` made of the model at its `step`, when it is made. */
export function modelRequest(target: Target, prompt: string, step = 0): Promise<RecordedRequest> {
  const scriptId = /SCRIPT id=(\S+)/.exec(prompt)?.[1];
  return target.model.waitForRequest((request) => request.scriptId === scriptId && request.step === step);
}

/** Asks for approval wherever gated commands do, and harms nothing when it runs. */
export const GATED = 'rm -rf build';

export function uniqueName(prefix: string): string {
  return `${prefix}-${randomUUID()}`;
}

export async function waitForStatus(
  api: CheckedApi,
  runId: string,
  status: Run['status'],
  limitMs?: number,
): Promise<Run> {
  return waitFor(
    `${runId} to be ${status}`,
    async () => {
      const run = await api.run(runId);
      return run.status === status && run;
    },
    limitMs,
  );
}

/** A run whose model waits at a gate before its first answer; released on dispose. */
export class HeldRun implements AsyncDisposable {
  readonly runId: string;
  readonly #api: CheckedApi;
  readonly #release: () => void;

  static async start(
    target: Target,
    steps: Step[] = [{ text: 'released' }],
    fields: Record<string, unknown> = {},
  ): Promise<HeldRun> {
    const api = apiOf(target);
    const gate = uniqueName('held');
    const runId = await api.create(script([{ ...steps[0], gate }, ...steps.slice(1)]), fields);
    await target.model.waitingAt(gate);
    return new HeldRun(api, runId, () => target.model.open(gate));
  }

  constructor(api: CheckedApi, runId: string, release: () => void) {
    this.#api = api;
    this.runId = runId;
    this.#release = release;
  }

  release(): void {
    this.#release();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.release();
    await this.#api.stop(this.runId);
    await this.#api.finish(this.runId);
  }
}

/** A run that waits for approval; stopped when disposed. */
export class WaitingRun implements AsyncDisposable {
  readonly runId: string;
  readonly approval: ApprovalRequest;
  readonly #api: CheckedApi;

  static async start(target: Target, input = commands(GATED), fields = {}): Promise<WaitingRun> {
    const api = apiOf(target);
    const runId = await api.create(input, fields);
    const { approval } = await waitForStatus(api, runId, 'waiting_for_approval');
    return new WaitingRun(api, runId, approval!);
  }

  constructor(api: CheckedApi, runId: string, approval: ApprovalRequest) {
    this.#api = api;
    this.runId = runId;
    this.approval = approval;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#api.stop(this.runId);
    await this.#api.finish(this.runId);
  }
}
