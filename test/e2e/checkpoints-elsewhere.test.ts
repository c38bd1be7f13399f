/**
 * The files of a run move along when another server continues it, as far as checkpoints kept them; the model and the clients are
 * told how far that is. Runs that are lost together share their database and their two servers.
 */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type SharedPostgres,
  sharedPostgres,
} from '../../packages/server/src/journal/postgres/testing/start-postgres.ts';
import { Api } from '../support/api.ts';
import { HostedServer } from '../support/hosted-server.ts';
import { type ModelServer, type Step, script, startModelServer } from '../support/model-server.ts';
import { ServerProcess } from '../support/server-process.ts';
import type { RunningServer } from '../support/server-settings.ts';
import { endsAs, ofKind, terminal, waitForApproval } from './server-with-model.ts';

/** Everything that a command can see of the files in the workspace, except their owner. */
const DESCRIBE =
  "find . -mindepth 1 -printf '%P %y %l %m %TY-%Tj %TH:%TM:%.6TS\\n' | sort; cat $(find . -type f | sort)";

let postgres: SharedPostgres;
let model: ModelServer;

beforeAll(async () => {
  [postgres, model] = await Promise.all([sharedPostgres(), startModelServer()]);
});
afterAll(async () => {
  await model?.close();
  await postgres?.stop();
});

/** Servers that share a database. */
class Servers implements AsyncDisposable {
  readonly #url: string;
  readonly #servers: RunningServer[] = [];

  static async start(): Promise<Servers> {
    return new Servers(await postgres.createDatabase());
  }

  private constructor(url: string) {
    this.#url = url;
  }

  /** A server that is not killed. */
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

class MovingRun {
  readonly runId: string;
  readonly #scriptId: string;

  static async create(
    server: RunningServer,
    steps: Step[],
    fields: Record<string, unknown> = {},
  ): Promise<MovingRun> {
    const input = script(steps);
    return new MovingRun(await new Api(server.url).create(input, fields), input);
  }

  private constructor(runId: string, input: string) {
    this.runId = runId;
    this.#scriptId = /SCRIPT id=(\S+)/.exec(input)![1]!;
  }

  /** What the model got for this step: the output of its tools, and other notices. */
  async toldBefore(step: number): Promise<{ printed: string[]; said: string }> {
    const { body } = await model.waitForRequest(
      (request) => request.scriptId === this.#scriptId && request.step === step && request.ended,
    );
    const printed = body.messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content));
    return { printed, said: JSON.stringify(body.messages) };
  }

  completes(server: RunningServer) {
    return endsAs(new Api(server.url), this.runId, 'run.completed');
  }
}

describe('a run whose server was killed continues on another one', () => {
  let servers: Servers;
  let second: HostedServer;
  let runs: Record<'kept' | 'tooLarge' | 'unused', MovingRun>;

  beforeAll(async () => {
    servers = await Servers.start();
    const first = await servers.startProcess({ TALARIA_CHECKPOINT_MAX_BYTES: '100000' });
    const gates = { kept: randomUUID(), tooLarge: randomUUID(), unused: randomUUID() };
    const make =
      'mkdir -p src/empty; echo one > src/one; chmod 640 src/one; touch -d @1500000000.5 src/one; ' +
      'printf "#!/bin/sh\\necho ran\\n" > run; chmod 755 run; ln -s src/one link; ln -s /nowhere dangling';
    runs = {
      kept: await MovingRun.create(first, [
        { tools: [terminal(`${make}; ${DESCRIBE}`)] },
        { gate: gates.kept, tools: [terminal(DESCRIBE), terminal('./run; cat link')] },
        { text: 'done' },
      ]),
      tooLarge: await MovingRun.create(first, [
        { tools: [terminal('echo small > small')] },
        { tools: [terminal('head -c 120000 /dev/zero > large')] },
        { tools: [terminal('echo more >> small')] },
        { gate: gates.tooLarge, tools: [terminal('cat *')] },
        { text: 'done' },
      ]),
      unused: await MovingRun.create(
        first,
        [{ gate: gates.unused, tools: [terminal('cat deep/given')] }, { text: 'done' }],
        { workspace: { files: [{ path: 'deep/given', content: 'from the request' }] } },
      ),
    };
    for (const gate of Object.values(gates)) await model.waitingAt(gate);
    expect(first.errors.match(/could not be kept/g)).toHaveLength(1);
    const given = `/v1/runs/${runs.unused.runId}/artifacts/content?path=deep/given`;
    expect((await new Api(first.url).get(given)).body).toBe('from the request');
    second = await servers.startServer();
    await first.kill();
    for (const gate of Object.values(gates)) model.open(gate);
  });
  afterAll(() => servers?.[Symbol.asyncDispose]());

  test('with its files, links, modes and times', async () => {
    const { frames } = await runs.kept.completes(second);
    expect(ofKind(frames, 'run.resumed')).toEqual([expect.objectContaining({ workspace_restored: true })]);
    expect(ofKind(frames, 'run.resumed')[0]).not.toHaveProperty('workspace_as_of_seq');
    const { printed, said } = await runs.kept.toldBefore(2);
    expect(printed[0]).toContain('link');
    expect(printed[1]).toBe(printed[0]);
    expect(printed[2]).toBe('ran\none\n');
    expect(said).toContain('as they were after the last tool call that completed');
  });

  test('with older files, or none, when they became too many to store', async () => {
    const { frames } = await runs.tooLarge.completes(second);
    const [made] = frames.filter(({ event }) => event.event === 'tool.completed');
    expect(ofKind(frames, 'run.resumed')).toMatchObject([
      { workspace_restored: true, workspace_as_of_seq: Number(made!.id) },
    ]);
    const { printed, said } = await runs.tooLarge.toldBefore(4);
    expect(printed.at(-1)).toBe('small\n');
    expect(said).toContain('your last 2 completed tool calls');
  });

  test('with the files that it began with and that no call has used yet, and nobody is told of a loss', async () => {
    const { frames } = await runs.unused.completes(second);
    expect(ofKind(frames, 'tool.completed')).toMatchObject([{ preview: 'from the request', error: false }]);
    expect(ofKind(frames, 'run.resumed')[0]).not.toHaveProperty('workspace_lost');
  });
});

describe('a run whose server was stopped continues on another one', () => {
  let servers: Servers;
  let a: HostedServer;
  let runs: Record<'asking' | 'returning', MovingRun>;

  beforeAll(async () => {
    servers = await Servers.start();
    a = await servers.startServer();
    const [early, late] = [randomUUID(), randomUUID()];
    runs = {
      asking: await MovingRun.create(a, [
        { tools: [terminal('echo made > file'), terminal('rm -rf build; echo removed')] },
        { tools: [terminal('cat file')] },
        { text: 'done' },
      ]),
      returning: await MovingRun.create(a, [
        { tools: [terminal('echo early > file')] },
        { gate: early, tools: [terminal('echo late > file')] },
        { gate: late, tools: [terminal('cat file')] },
        { text: 'done' },
      ]),
    };
    await waitForApproval(new Api(a.url), runs.asking.runId);
    await model.waitingAt(early);
    const b = await servers.startServer();
    await a.restart({}, async () => {
      model.open(early);
      await model.waitingAt(late);
      const api = new Api(b.url);
      const { request_id } = await waitForApproval(api, runs.asking.runId);
      await api.approve(runs.asking.runId, 'once', { request_id });
      await runs.asking.completes(b);
    });
    await b.stop();
    model.open(late);
  });
  afterAll(() => servers?.[Symbol.asyncDispose]());

  test('with what a call of an unfinished step has made', async () => {
    const { frames } = await runs.asking.completes(a);
    expect(ofKind(frames, 'run.resumed')).toMatchObject([{ workspace_restored: true }]);
    expect(ofKind(frames, 'run.resumed')[0]).not.toHaveProperty('workspace_as_of_seq');
    expect((await runs.asking.toldBefore(2)).printed.at(-1)).toBe('made\n');
  });

  test('and never with outdated files that the other has of an earlier time', async () => {
    const { frames } = await runs.returning.completes(a);
    expect(ofKind(frames, 'run.resumed')).toMatchObject([
      { workspace_restored: true },
      { workspace_restored: true },
    ]);
    expect((await runs.returning.toldBefore(3)).printed.at(-1)).toBe('late\n');
  });
});

// test/chaos shows that a run survives this kill, and a test above what the model is told of a checkpoint that is missing.
test('a run whose last checkpoint was interrupted has the files of the one before on another server, and is told', {
  tags: ['soak'],
}, async () => {
  await using servers = await Servers.start();
  const first = await servers.startProcess({ TALARIA_FAILPOINTS: 'checkpoint.after-blob@2' });
  const run = await MovingRun.create(first, [
    { tools: [terminal('echo one > one')] },
    { tools: [terminal('echo two > two')] },
    { tools: [terminal('ls')] },
    { text: 'done' },
  ]);
  expect((await first.exited()).signal).toBe('SIGKILL');
  // The second came with its record, or not at all.
  expect(await servers.rows('SELECT blob_id FROM blobs')).toHaveLength(1);
  expect(await servers.rows('SELECT blob_id FROM blob_refs')).toHaveLength(1);
  const { frames } = await run.completes(await servers.startServer());
  const [made] = frames.filter(({ event }) => event.event === 'tool.completed');
  expect(ofKind(frames, 'run.resumed')).toMatchObject([
    { workspace_restored: true, workspace_as_of_seq: Number(made!.id) },
  ]);
  const { printed, said } = await run.toldBefore(3);
  expect(printed.at(-1)).toBe('one\n');
  expect(said).toContain('without what your last completed tool call that worked with files changed');
});
