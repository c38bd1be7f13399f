/** A server under test with its scripted model, and common requests of the tests. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isTerminalEvent, type Run, type RunEvent, type RunStatus } from '@talaria/protocol';
import { expect } from 'vitest';
import { Api, type Frame } from '../support/api.ts';
import { HostedServer } from '../support/hosted-server.ts';
import { type ModelServer, startModelServer } from '../support/model-server.ts';
import { ServerProcess, type ServerProcessOptions } from '../support/server-process.ts';
import type { RunningServer } from '../support/server-settings.ts';
import { waitFor } from '../support/wait-for.ts';

export class ServerWithModel<Server extends RunningServer = RunningServer> implements AsyncDisposable {
  readonly model: ModelServer;
  readonly server: Server;
  readonly #key: string | undefined;

  static start(env: Record<string, string> = {}): Promise<ServerWithModel<HostedServer>> {
    return ServerWithModel.#start(env, (modelUrl) => HostedServer.start({ modelUrl, env }));
  }

  /** For tests that kill the server, stop it by a signal or read what it prints. */
  static startProcess(
    env: Record<string, string> = {},
    options: Pick<ServerProcessOptions, 'program'> = {},
  ): Promise<ServerWithModel<ServerProcess>> {
    return ServerWithModel.#start(env, (modelUrl) => ServerProcess.start({ ...options, modelUrl, env }));
  }

  static async #start<Server extends RunningServer>(
    env: Record<string, string>,
    startServer: (modelUrl: string) => Promise<Server>,
  ): Promise<ServerWithModel<Server>> {
    const model = await startModelServer();
    try {
      return new ServerWithModel(model, await startServer(model.url), env.API_SERVER_KEY);
    } catch (error) {
      await model.close();
      throw error;
    }
  }

  private constructor(model: ModelServer, server: Server, key: string | undefined) {
    this.model = model;
    this.server = server;
    this.#key = key;
  }

  /** For the server's present address: a restarted one has another port. */
  get api(): Api {
    return new Api(this.server.url, this.#key);
  }

  /** The path of a workspace file on this machine. */
  workspaceFile(runId: string, name = ''): string {
    return join(this.server.dataDir, 'workspaces', `t-${runId}`, name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    await this.model.close();
  }
}

export type EventOf<N extends RunEvent['event']> = Extract<RunEvent, { event: N }>;

export function ofKind<N extends RunEvent['event']>(frames: readonly Frame[], name: N): EventOf<N>[] {
  return frames.map(({ event }) => event).filter((event): event is EventOf<N> => event.event === name);
}

export function names(frames: readonly Frame[]): string[] {
  return frames.map(({ event }) => event.event);
}

/** Everything shown of the answer, joined. */
export function shownText(frames: readonly Frame[]): string {
  return ofKind(frames, 'message.delta')
    .map(({ delta }) => delta)
    .join('');
}

/** The whole stream of a finished run, with the checks that apply to every one. */
export async function wholeStream(api: Api, runId: string): Promise<Frame[]> {
  const { frames, clean } = await api.stream(runId);
  expect(clean).toBe(true);
  expect(frames.map(({ id }) => Number(id))).toEqual(frames.map((_, index) => index));
  expect(names(frames).filter(isTerminalEvent)).toHaveLength(1);
  expect(isTerminalEvent(frames.at(-1)!.event.event)).toBe(true);
  return frames;
}

/** Follows the run to its end, which must be this one. */
export async function endsAs<N extends 'run.completed' | 'run.failed' | 'run.cancelled'>(
  api: Api,
  runId: string,
  name: N,
): Promise<EventOf<N> & { frames: Frame[] }> {
  const frames = await wholeStream(api, runId);
  const end = frames.at(-1)!.event;
  expect(end, JSON.stringify(end)).toMatchObject({ event: name });
  return { ...(end as EventOf<N>), frames };
}

export function waitForStatus(api: Api, runId: string, ...wanted: RunStatus[]): Promise<Run> {
  return waitFor(`${runId} to be ${wanted.join(' or ')}`, async () => {
    const run = await api.run(runId);
    return wanted.includes(run.status) && run;
  });
}

/** Waits for the question after the one with this id. */
export async function waitForApproval(api: Api, runId: string, after?: string) {
  const { approval } = await waitFor('a pending approval', async () => {
    const run = await api.run(runId);
    return run.approval !== undefined && run.approval.request_id !== after && run;
  });
  return approval!;
}

/** Processes of this machine with the marker in their command line; zombies have none. */
export function processesWith(marker: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(marker);
      } catch {
        return false;
      }
    });
}

/** A duration for sleep(1) that no other process uses. */
export function markedSleep(): { command: string; marker: string } {
  const marker = `3600.${process.pid}${Math.random().toString().slice(2, 10)}`;
  return { command: `sleep ${marker}`, marker };
}

export function terminal(command: string, fields: Record<string, unknown> = {}) {
  return { name: 'terminal', arguments: { command, ...fields } };
}
