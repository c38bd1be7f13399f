/** Output for programs: every command with `--json`, as docs/cli.md describes it. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  terminal as bash,
  ServerWithModel,
  waitForApproval,
  waitForStatus,
} from '../e2e/server-with-model.ts';
import { script } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { talaria } from './talaria.ts';

const RUN_ID = /^run_[0-9a-f]{32}$/;
const SHA256 = /^[0-9a-f]{64}$/;

let world: ServerWithModel;
let directory: string;

beforeAll(async () => {
  world = await ServerWithModel.start();
  directory = mkdtempSync(join(tmpdir(), 'talaria-cli-'));
});
afterAll(async () => {
  rmSync(directory, { recursive: true, force: true });
  await world[Symbol.asyncDispose]();
});

/** The one JSON value that a command printed. */
async function json(url: string, ...argv: string[]) {
  const { code, stdout, stderr } = await talaria(url, [...argv, '--json'], { cwd: directory });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
}

const ours = (...argv: string[]) => json(world.server.url, ...argv);

async function lines(...argv: string[]) {
  const { code, stdout, stderr } = await talaria(world.server.url, [...argv, '--json']);
  expect(stderr).toBe('');
  return {
    code,
    lines: stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  };
}

describe('streams are lines:', () => {
  test('run: the answer to the creation, then each event as the server has it', async () => {
    const prompt = script([{ text: 'Hi \x1b[31m\u009b', tools: [bash('echo one')] }, { text: 'done' }]);
    const { code, lines: printed } = await lines('run', '-s', 'json', prompt);
    expect(code).toBe(0);
    const [created, ...events] = printed;
    expect(created).toEqual({ run_id: expect.stringMatching(RUN_ID), status: 'started', replayed: false });
    const { frames } = await world.api.stream(created.run_id);
    expect(events).toEqual(frames.map(({ event }) => event));
    expect((await world.api.run(created.run_id)).session_id).toBe('json');

    const watched = await lines('watch', created.run_id);
    expect(watched.lines).toEqual(events);
    const rest = await lines('watch', '--after', String(events.at(-3).seq), created.run_id);
    expect(rest.lines).toEqual(events.slice(-2));
  });

  test('run of a run that fails', async () => {
    const prompt = script([{ error: { status: 401, message: 'no' } }]);
    const { code, lines: printed } = await lines('run', prompt);
    expect(code).toBe(3);
    expect(printed.at(-1)).toMatchObject({ event: 'run.failed', error_code: 'provider_auth' });
  });

  test('run --detach: the answer to the creation alone, the same for the same key', async () => {
    const argv = ['run', '-d', '--idempotency-key', 'json-test', script([{ text: 'once' }])];
    const first = await ours(...argv);
    expect(first).toMatchObject({ run_id: expect.stringMatching(RUN_ID), replayed: false });
    expect(await ours(...argv)).toMatchObject({ run_id: first.run_id, replayed: true });
  });
});

test('fork: like run; the fork says where it comes from', async () => {
  const { lines: first } = await lines('run', script([{ text: 'one' }]));
  const { run_id: source } = first[0];
  const { code, lines: printed } = await lines('fork', source.slice(0, 24), '--at', '0');
  expect(code).toBe(0);
  const [created, ...events] = printed;
  expect(created).toMatchObject({ run_id: expect.stringMatching(RUN_ID), replayed: false });
  expect(events.at(-1)).toMatchObject({ event: 'run.completed', output: 'one' });
  expect(await ours('show', created.run_id)).toMatchObject({ forked_from: { run_id: source, seq: 0 } });

  const argv = ['fork', '-d', '--idempotency-key', 'json-fork', source, script([{ text: 'two' }])];
  const detached = await ours(...argv);
  expect(await ours(...argv)).toEqual({ ...detached, status: expect.any(String), replayed: true });
  const { stdout } = await talaria(world.server.url, ['watch', detached.run_id]);
  expect(stdout).toBe('two\n');
  const shown = await talaria(world.server.url, ['show', detached.run_id]);
  expect(shown.stdout).toMatch(new RegExp(`^fork of +${source}, from event \\d+$`, 'm'));

  const refused = await talaria(world.server.url, ['fork', '--json', source]);
  expect(refused.code).toBe(1);
  const message = expect.stringContaining('give a [prompt], or an earlier event with --at');
  expect(JSON.parse(refused.stderr)).toMatchObject({
    error: { message, code: 'missing_input', status: 400 },
  });
});

describe('documents are one value:', () => {
  test('runs: an array of runs', async () => {
    const runId = await world.api.create(script([{ text: 'listed' }]), { session_id: 'listing' });
    await waitForStatus(world.api, runId, 'completed');
    expect(await ours('runs', '--session', 'listing')).toEqual([await world.api.run(runId)]);
    expect(await ours('runs', '--session', 'none')).toEqual([]);
    expect(await ours('runs', '-n', '1')).toHaveLength(1);
  });

  test('show: the run', async () => {
    const runId = await world.api.create(script([{ text: 'shown' }]));
    await waitForStatus(world.api, runId, 'completed');
    expect(await ours('show', runId)).toEqual(await world.api.run(runId));
  });

  test('approve, steer and stop: what the server answers', async () => {
    const runId = await world.api.create(script([{ tools: [bash('rm -rf build')] }, { gate: 'never' }]));
    const { request_id } = await waitForApproval(world.api, runId);
    expect(await ours('approve', runId, 'deny', '--request', request_id)).toEqual({
      object: 'hermes.run.approval_response',
      run_id: runId,
      choice: 'deny',
      resolved: 1,
      request_id,
    });
    await world.model.waitingAt('never');
    expect(await ours('steer', runId, 'Hurry')).toEqual({
      object: 'hermes.run.steer',
      run_id: runId,
      accepted: true,
    });
    expect(await ours('stop', runId)).toMatchObject({ run_id: runId, status: 'cancelled' });
  });

  test('approvals and grants: arrays; revoke: what the server answers', async () => {
    const session_id = 'granting';
    const steps = [{ tools: [bash('rm -rf build')] }, { text: 'done' }];
    const runId = await world.api.create(script(steps), { session_id });
    const { request_id } = await waitForApproval(world.api, runId);
    expect(await ours('approvals')).toMatchObject([
      { request_id, status: 'pending', run: { run_id: runId } },
    ]);
    await ours('approve', runId, 'session', '--request', request_id);
    await waitForStatus(world.api, runId, 'completed');
    expect(await ours('approvals')).toEqual([]);
    expect(await ours('approvals', '--answered', '-n', '1')).toMatchObject([
      { request_id, choice: 'session' },
    ]);
    const [grant] = (await ours('grants', 'ls')) as { id: string }[];
    expect(grant).toMatchObject({ scope: 'session', session_id, last_used_at: null });
    const { id } = grant!;
    expect(await ours('grants', 'revoke', id.slice(0, 12))).toEqual({
      object: 'hermes.grant',
      id,
      deleted: true,
    });
    expect(await ours('grants', 'ls')).toEqual([]);
  });

  test('answer: what the server answers', async () => {
    const tools = [{ type: 'function', function: { name: 'get' } }];
    const prompt = script([{ tools: [{ name: 'get', arguments: {} }] }, { text: 'done' }]);
    const runId = await world.api.create(prompt, { tools });
    // The deadline of a call begins with `run.waiting`.
    const { pending_calls } = await waitFor('the run to wait for its client', async () => {
      const run = await world.api.run(runId);
      return run.last_event === 'run.waiting' && run;
    });
    expect(await ours('show', runId)).toMatchObject({ pending_calls });
    expect(await ours('answer', runId, '--output', 'x')).toEqual({
      object: 'hermes.run.tool_outputs',
      run_id: runId,
      accepted: 1,
    });
    await waitForStatus(world.api, runId, 'completed');
  });

  test('artifacts ls and get', async () => {
    const runId = await world.api.create(
      script([{ tools: [bash('printf hello > a.txt')] }, { text: 'done' }]),
    );
    await waitForStatus(world.api, runId, 'completed');
    expect(await ours('artifacts', 'ls', runId)).toEqual({
      object: 'list',
      run_id: runId,
      data: [{ path: 'a.txt', type: 'file', size: 5, modified_at: expect.any(Number) }],
      truncated: false,
    });
    expect(await ours('artifacts', 'get', runId, 'a.txt')).toEqual({
      file: 'a.txt',
      bytes: 5,
      sha256: expect.stringMatching(SHA256),
    });
    expect(readFileSync(join(directory, 'a.txt'), 'utf8')).toBe('hello');
  });

  test('jobs', async () => {
    const jobs = (...argv: string[]) => json(world.server.url, 'jobs', ...argv);
    const job = await jobs(
      'create',
      'logs',
      script([{ text: 'read' }]),
      '--schedule',
      'every 30m',
      '--repeat',
      '3',
    );
    expect(job).toMatchObject({
      name: 'logs',
      schedule: { kind: 'interval', minutes: 30 },
      repeat: { times: 3 },
      state: 'scheduled',
    });
    const short = job.id.slice(0, 6);
    expect(await jobs('list')).toEqual([job]);
    expect(await jobs('show', short)).toEqual(job);
    expect(await jobs('pause', short)).toMatchObject({ id: job.id, state: 'paused' });
    expect(await jobs('list')).toEqual([]);
    expect(await jobs('list', '-a')).toHaveLength(1);
    expect(await jobs('resume', short)).toMatchObject({ id: job.id, state: 'scheduled' });
    expect(await jobs('run', short)).toMatchObject({
      id: job.id,
      last_run_id: expect.stringMatching(RUN_ID),
    });
    expect(await jobs('delete', short)).toEqual({ ok: true });
    expect(await jobs('list', '-a')).toEqual([]);
  });

  test('doctor and config', async () => {
    const env = { TALARIA_DATA_DIR: directory, API_SERVER_PORT: '0' };
    const doctor = await talaria(world.server.url, ['doctor', '--json'], { env });
    expect(doctor).toMatchObject({ code: 0, stderr: '' });
    const { ok, checks } = JSON.parse(doctor.stdout);
    expect(ok).toBe(true);
    for (const check of checks) {
      expect(check).toEqual({
        name: expect.any(String),
        status: expect.stringMatching(/^(ok|warning)$/),
        detail: expect.any(String),
        facts: expect.any(Array),
        fix: check.fix === null ? null : expect.any(String),
        // The name of earlier versions.
        mend: check.fix,
      });
    }
    const config = await talaria(world.server.url, ['config', '--json'], { env });
    expect(Object.keys(JSON.parse(config.stdout))).toEqual(['config_file', 'settings', 'warnings']);
  });
});

describe('errors are one line of JSON on stderr:', () => {
  test.each([
    ['an unknown run', ['show', `run_${'0'.repeat(32)}`], 1, 'run_not_found', 404],
    ['nothing to answer', ['stop', `run_${'0'.repeat(32)}`], 1, 'run_not_found', 404],
    ['an unknown start', ['show', 'run_ffff'], 1, null, null],
    ['an unknown job', ['jobs', 'show', '0'.repeat(12)], 1, null, 404],
  ])('%s', async (_, argv, code, errorCode, status) => {
    const ran = await talaria(world.server.url, [...argv, '--json']);
    expect(ran).toMatchObject({ code, stdout: '' });
    expect(JSON.parse(ran.stderr)).toEqual({
      error: { message: expect.any(String), code: errorCode, status, exit_code: code },
    });
  });
});
