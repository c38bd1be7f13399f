/**
 * The files of a run move along when another server continues it, as far as checkpoints kept them; the model and the clients are
 * told how far that is. Each test has its own database and two servers; the second starts when the first is about to be lost.
 */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  startPostgres,
  type TestPostgres,
} from '../../packages/server/src/journal/postgres/testing/start-postgres.ts';
import { Api } from '../support/api.ts';
import { HostedServer } from '../support/hosted-server.ts';
import { type ModelServer, type Step, script, startModelServer } from '../support/model-server.ts';
import { ServerProcess } from '../support/server-process.ts';
import type { RunningServer } from '../support/server-settings.ts';
import { endsAs, ofKind, terminal, waitForApproval } from './server-with-model.ts';

const TEST_LIMIT_MS = 90_000;

/** Everything that a command can see of the files in the workspace, except their owner. */
const DESCRIBE =
  "find . -mindepth 1 ! -path './.talaria*' -printf '%P %y %l %m %TY-%Tj %TH:%TM:%.6TS\\n' | sort; cat $(find . -type f ! -path './.talaria*' | sort)";

let postgres: TestPostgres;
let model: ModelServer;

beforeAll(async () => {
  [postgres, model] = await Promise.all([startPostgres(), startModelServer()]);
});
afterAll(async () => {
  await model?.close();
  await postgres?.stop();
});

/** A run, on servers that share a database. */
class MovingRun implements AsyncDisposable {
  readonly #url: string;
  readonly #servers: RunningServer[] = [];
  #scriptId = '';
  runId = '';

  static async start(): Promise<MovingRun> {
    return new MovingRun(await postgres.createDatabase());
  }

  private constructor(url: string) {
    this.#url = url;
  }

  /** A server that is not to be lost. */
  async startServer(): Promise<HostedServer> {
    const server = await HostedServer.start(this.#settings());
    this.#servers.push(server);
    return server;
  }

  async startProcess(env: Record<string, string> = {}): Promise<ServerProcess> {
    const server = await ServerProcess.start(this.#settings(env));
    this.#servers.push(server);
    return server;
  }

  #settings(env: Record<string, string> = {}) {
    const own = { TALARIA_DATABASE_URL: this.#url, TALARIA_LEASE_SECONDS: '3' };
    return { modelUrl: model.url, env: { ...own, ...env } };
  }

  async create(steps: Step[], fields: Record<string, unknown> = {}): Promise<void> {
    const input = script(steps);
    this.#scriptId = /SCRIPT id=(\S+)/.exec(input)![1]!;
    this.runId = await this.api.create(input, fields);
  }

  /** Of the server that was started last. */
  get api(): Api {
    return new Api(this.#servers.at(-1)!.url);
  }

  /** What the model got for this step: the output of its tools, and other notices. */
  async toldBefore(step: number): Promise<{ printed: string[]; said: string }> {
    const { body } = await model.waitForRequest(
      (request) => request.scriptId === this.#scriptId && request.step === step && request.ended,
    );
    const printed = body.messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content));
    return { printed, said: JSON.stringify(body.messages) };
  }

  async rows(sql: string): Promise<Record<string, unknown>[]> {
    const client = new pg.Client(this.#url);
    await client.connect();
    try {
      return (await client.query(sql)).rows;
    } finally {
      await client.end();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.#servers) await server[Symbol.asyncDispose]();
  }
}

describe('a run that continues on another server', { timeout: TEST_LIMIT_MS }, () => {
  test('after kill -9 has its files, links, modes and times', async () => {
    const gate = randomUUID();
    const make =
      'mkdir -p src/empty; echo one > src/one; chmod 640 src/one; touch -d @1500000000.5 src/one; ' +
      'printf "#!/bin/sh\\necho ran\\n" > run; chmod 755 run; ln -s src/one link; ln -s /nowhere dangling';
    await using run = await MovingRun.start();
    const first = await run.startProcess();
    await run.create([
      { tools: [terminal(`${make}; ${DESCRIBE}`)] },
      { gate, tools: [terminal(DESCRIBE), terminal('./run; cat link')] },
      { text: 'done' },
    ]);
    await model.waitingAt(gate);
    await run.startServer();
    await first.kill();
    model.open(gate);
    const { frames } = await endsAs(run.api, run.runId, 'run.completed');
    expect(ofKind(frames, 'run.resumed')).toEqual([expect.objectContaining({ workspace_restored: true })]);
    expect(ofKind(frames, 'run.resumed')[0]).not.toHaveProperty('workspace_as_of_seq');
    const { printed, said } = await run.toldBefore(2);
    expect(printed[0]).toContain('link');
    expect(printed[1]).toBe(printed[0]);
    expect(printed[2]).toBe('ran\none\n');
    expect(said).toContain('as they were after the last tool call that completed');
  });

  test('handed over with SIGTERM has what a call of an unfinished step has made', async () => {
    await using run = await MovingRun.start();
    const first = await run.startProcess();
    await run.create([
      { tools: [terminal('echo made > file'), terminal('rm -rf build; echo removed')] },
      { tools: [terminal('cat file')] },
      { text: 'done' },
    ]);
    await waitForApproval(run.api, run.runId);
    await run.startServer();
    await first.kill('SIGTERM');
    const { request_id } = await waitForApproval(run.api, run.runId);
    await run.api.approve(run.runId, 'once', { request_id });
    const { frames } = await endsAs(run.api, run.runId, 'run.completed');
    expect(ofKind(frames, 'run.resumed')).toMatchObject([{ workspace_restored: true }]);
    expect(ofKind(frames, 'run.resumed')[0]).not.toHaveProperty('workspace_as_of_seq');
    expect((await run.toldBefore(2)).printed.at(-1)).toBe('made\n');
  });

  test('does not use outdated files of an earlier time', async () => {
    const [early, late] = [randomUUID(), randomUUID()];
    await using run = await MovingRun.start();
    const a = await run.startServer();
    await run.create([
      { tools: [terminal('echo early > file')] },
      { gate: early, tools: [terminal('echo late > file')] },
      { gate: late, tools: [terminal('cat file')] },
      { text: 'done' },
    ]);
    await model.waitingAt(early);
    const b = await run.startProcess();
    await a.restart({}, async () => {
      model.open(early);
      await model.waitingAt(late);
    });
    await b.kill();
    model.open(late);
    const { frames } = await endsAs(new Api(a.url), run.runId, 'run.completed');
    expect(ofKind(frames, 'run.resumed')).toMatchObject([
      { workspace_restored: true },
      { workspace_restored: true },
    ]);
    expect((await run.toldBefore(3)).printed.at(-1)).toBe('late\n');
  });

  test('has the files of the checkpoint before when the last one was interrupted, and is told', async () => {
    await using run = await MovingRun.start();
    const first = await run.startProcess({ TALARIA_FAILPOINTS: 'checkpoint.after-blob@2' });
    await run.create([
      { tools: [terminal('echo one > one')] },
      { tools: [terminal('echo two > two')] },
      { tools: [terminal('ls')] },
      { text: 'done' },
    ]);
    expect((await first.exited()).signal).toBe('SIGKILL');
    // The second came with its record, or not at all.
    expect(await run.rows('SELECT blob_id FROM blobs')).toHaveLength(1);
    expect(await run.rows('SELECT blob_id FROM blob_refs')).toHaveLength(1);
    await run.startServer();
    const { frames } = await endsAs(run.api, run.runId, 'run.completed');
    const [made] = frames.filter(({ event }) => event.event === 'tool.completed');
    expect(ofKind(frames, 'run.resumed')).toMatchObject([
      { workspace_restored: true, workspace_as_of_seq: Number(made!.id) },
    ]);
    const { printed, said } = await run.toldBefore(3);
    expect(printed.at(-1)).toBe('one\n');
    expect(said).toContain('without what your last completed tool call that worked with files changed');
  });

  test('has older files, or none, when they became too many to store', async () => {
    const gate = randomUUID();
    const large = 'head -c 5000 /dev/zero > large';
    await using run = await MovingRun.start();
    const first = await run.startProcess({ TALARIA_CHECKPOINT_MAX_BYTES: '4096' });
    await run.create([
      { tools: [terminal('echo small > small')] },
      { tools: [terminal(large)] },
      { tools: [terminal('echo more >> small')] },
      { gate, tools: [terminal('cat *')] },
      { text: 'done' },
    ]);
    await model.waitingAt(gate);
    expect(first.errors.match(/could not be kept/g)).toHaveLength(1);
    await run.startServer();
    await first.kill();
    model.open(gate);
    const { frames } = await endsAs(run.api, run.runId, 'run.completed');
    const [made] = frames.filter(({ event }) => event.event === 'tool.completed');
    expect(ofKind(frames, 'run.resumed')).toMatchObject([
      { workspace_restored: true, workspace_as_of_seq: Number(made!.id) },
    ]);
    const { printed, said } = await run.toldBefore(4);
    expect(printed.at(-1)).toBe('small\n');
    expect(said).toContain('your last 2 completed tool calls');
  });

  test('has the files that it began with and that no call has used yet, and nobody is told of a loss', async () => {
    await using run = await MovingRun.start();
    const first = await run.startProcess();
    const gate = randomUUID();
    const workspace = { files: [{ path: 'deep/given', content: 'from the request' }] };
    await run.create([{ gate, tools: [terminal('cat deep/given')] }, { text: 'done' }], { workspace });
    await model.waitingAt(gate);
    const { body } = await run.api.get(`/v1/runs/${run.runId}/artifacts/content?path=deep/given`);
    expect(body).toBe('from the request');
    await run.startServer();
    await first.kill();
    model.open(gate);
    const { frames } = await endsAs(run.api, run.runId, 'run.completed');
    expect(ofKind(frames, 'tool.completed')).toMatchObject([{ preview: 'from the request', error: false }]);
    expect(ofKind(frames, 'run.resumed')[0]).not.toHaveProperty('workspace_lost');
  });
});
