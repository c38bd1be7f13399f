/** The command without a terminal: scripts, files, pipes. */
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  terminal as bash,
  ServerWithModel,
  waitForApproval,
  waitForStatus,
} from '../e2e/server-with-model.ts';
import { script } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { BIN, type RunOptions, spawnTalaria, talaria, talariaProcess } from './talaria.ts';

let world: ServerWithModel;
beforeAll(async () => {
  world = await ServerWithModel.start();
});
afterAll(() => world[Symbol.asyncDispose]());

const ours = (argv: string[], options: RunOptions = {}) => talariaProcess(world.server.url, argv, options);
/** In this process, which costs less: for what a command says, not how it writes it. */
const asked = (argv: string[], options: RunOptions = {}) => talaria(world.server.url, argv, options);
const gated = bash('rm -rf build; echo removed');

const hasFullDevice = existsSync('/dev/full');

test.skipIf(!hasFullDevice)(
  `a full disk is told in a sentence${hasFullDevice ? '' : ' (skipped: no /dev/full)'}`,
  () => {
    const full = openSync('/dev/full', 'w');
    try {
      for (const argv of [['runs', '--json'], ['config'], ['help', 'serve']]) {
        const { status, stderr } = spawnSync(process.execPath, [BIN, ...argv], {
          env: { PATH: process.env.PATH, HOME: '/nonexistent/home', TALARIA_BASE_URL: world.server.url },
          stdio: ['ignore', full, 'pipe'],
          encoding: 'utf8',
        });
        expect({ status, stderr }).toEqual({
          status: 1,
          stderr: expect.stringMatching(/^The output could not be written: ENOSPC[^\n]*\n$/),
        });
      }
    } finally {
      closeSync(full);
    }
  },
);

describe('run', () => {
  const prompt = () =>
    script([
      { reasoning: 'Hm.', text: 'I look.', tools: [bash('echo \x1b[31mred; exit 2')] },
      { text: 'The \x1b[1manswer' },
    ]);

  test('writes the answer to stdout and everything else to stderr, without escape sequences', async () => {
    const { code, stdout, stderr } = await ours(['run', prompt()], { env: { FORCE_COLOR: '1' } });
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'The ␛[1manswer\n' });
    expect(stderr).not.toContain('\x1b');
    expect(stderr).toMatch(
      /^Hm\.\nI look\.\n> terminal {2}echo ␛\[31mred; exit 2\n✗ terminal {2}echo ␛\[31mred; exit 2 {2}exit 2, [\d.]+s\n {4}␛\[31mred\n[^✓]*✓ completed in [\d.]+s · tokens 20 in, 10 out · run_\w{32}\n$/,
    );
  });

  test('writes nothing but the answer with -q', async () => {
    expect(await asked(['run', '-q', prompt()])).toEqual({ code: 0, stdout: 'The ␛[1manswer\n', stderr: '' });
  });

  test('shows the outputs of tools and what steps took with -v', async () => {
    const chatty = script([{ text: 'I count.', tools: [bash('seq 3')] }, { text: 'done' }]);
    const { stderr, stdout } = await asked(['run', '-v', chatty]);
    expect(stdout).toBe('done\n');
    expect(stderr).toMatch(
      /^I count\.\n• step 1 {2}[\d.]+s {2}tokens 10 in, 5 out\n> terminal {2}seq 3\n✓ terminal {2}seq 3 {2}[\d.]+s\n {4}1\n {4}2\n {4}3\n• step 2 [^\n]+\n✓ completed/,
    );
  });

  test('reads its prompt from stdin', async () => {
    expect(await ours(['run', '-q', '-'], { input: 'good\nmorning' })).toMatchObject({
      stdout: 'You said: good\nmorning\n',
    });
    expect(await asked(['run', '-'], { input: ' \n' })).toMatchObject({ code: 2, stdout: '' });
  });

  test('takes a prompt that begins with a dash after --', async () => {
    expect(await asked(['run', '-q', '--', '--help me'])).toMatchObject({ stdout: 'You said: --help me\n' });
  });

  test('passes the session and instructions on', async () => {
    await asked(['run', '-q', '-s', 'talk', '-i', 'Be brief', 'first']);
    expect(await asked(['run', '-q', '--session', 'talk', 'second'])).toMatchObject({ code: 0 });
    const { body } = world.model.requests.at(-1)!;
    expect(JSON.stringify(body.messages)).toMatch(/first.*You said: first.*second/);
    expect(JSON.stringify(world.model.requests.at(-2)!.body.messages)).toContain('Be brief');
  });

  test('prints the id with -d and leaves the run alone', async () => {
    const { code, stdout, stderr } = await asked(['run', '-d', 'hello']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^run_\w{32}\n$/);
    await waitForStatus(world.api, stdout.trim(), 'completed');
  });

  test.each([
    ['failed', 3, /✗ failed after [\d.]+s: no \(provider_auth\)/],
    ['cancelled', 4, /■ cancelled after/],
  ])('of a run that is %s ends with %i and gives no answer', async (status, code, line) => {
    const step = status === 'failed' ? { error: { status: 401, message: 'no' } } : { gate: 'stopped' };
    const running = asked(['run', script([step])]);
    if (status === 'cancelled') {
      await world.model.waitingAt('stopped');
      const { stdout } = await asked(['runs', '-q', '--status', 'running']);
      expect(await asked(['stop', ...stdout.trim().split('\n')])).toMatchObject({
        code: 0,
        stdout: `${stdout.trim()} cancelled\n`,
      });
    }
    const ran = await running;
    expect(ran).toMatchObject({ code, stdout: '' });
    expect(ran.stderr).toMatch(line);
  });
});

describe('an approval', () => {
  test('that nobody can answer here is shown with how to answer it, and waits', async () => {
    const { child, output, ended } = spawnTalaria(world.server.url, [
      'run',
      script([{ tools: [gated] }, { text: 'done' }]),
    ]);
    child.stdin.end();
    await waitFor('the question', () => /talaria approve/.test(output.stderr));
    expect(output.stderr).toMatch(
      /\? Approval needed: recursive delete\n {2}│ rm -rf build; echo removed\n {2}Answer it with: talaria approve run_\w{32} \(denied in .* without an answer\)\n$/,
    );
    const [, runId] = /talaria approve (run_\w{32})/.exec(output.stderr)!;
    expect((await asked(['approvals'])).stdout).toMatch(
      new RegExp(
        `^RUN +LEFT +WHY +COMMAND\n${runId} +(\\d+m \\d\\ds|\\d+s) +recursive delete +rm -rf build; echo removed\n$`,
      ),
    );
    expect(await asked(['approve', runId!])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no terminal to ask on; give the answer'),
    });
    expect(await asked(['approve', runId!, 'once'])).toEqual({
      code: 0,
      stdout: '✓ approved once: rm -rf build; echo removed\n',
      stderr: '',
    });
    expect(await ended).toMatchObject({ code: 0, stdout: 'done\n' });
    expect(output.stderr).toMatch(/✓ approved once\n✓ terminal {2}rm -rf build/);
    expect(await asked(['approve', runId!, 'once'])).toMatchObject({
      code: 1,
      stderr: `${runId} asks nothing: it is completed\n`,
    });
  });

  test('is shown by runs and show; --request answers only the question that was seen', async () => {
    const runId = await world.api.create(script([{ tools: [gated, gated] }, { text: 'done' }]));
    const { request_id } = await waitForApproval(world.api, runId);
    expect((await asked(['runs', '--status', 'waiting_for_approval'])).stdout).toMatch(
      new RegExp(`^${runId} +waiting_for_approval +\\d+s +- +asks: rm -rf build; echo removed$`, 'm'),
    );
    expect((await asked(['show', runId])).stdout).toContain(
      '  │ rm -rf build; echo removed\n  Answer it with:',
    );
    expect(await asked(['approve', runId, 'once', '--request', 'apr_other'])).toMatchObject({ code: 1 });
    expect((await world.api.run(runId)).status).toBe('waiting_for_approval');
    expect(await asked(['approve', runId, 'deny', '--all', '--request', request_id])).toMatchObject({
      stdout: '✗ denied: rm -rf build; echo removed and 1 behind it\n',
    });
    await waitForStatus(world.api, runId, 'completed');
  });
});

describe("a call of a client's tool", () => {
  const tools = [{ type: 'function', function: { name: 'get' } }];
  const get = (what: string, id: string) => ({ name: 'get', arguments: { what }, id });

  test('is shown by runs, show and watch, with how to answer it', async () => {
    const prompt = script([{ tools: [get('snow', 'call_a')] }, { text: 'done' }]);
    const runId = await world.api.create(prompt, { tools });
    const { ended, child, output } = spawnTalaria(world.server.url, ['watch', runId]);
    child.stdin.end();
    await waitFor('how to answer', () => /talaria answer/.test(output.stderr));
    expect(output.stderr).toMatch(
      /^> get {2}\{"what":"snow"\}\n\? waits for its client to run get\n {2}Answer it with: talaria answer run_\w{32} --output <text> \(given up in .* without one\)\n$/,
    );
    expect((await asked(['runs', '--status', 'waiting_for_tool'])).stdout).toMatch(
      new RegExp(`^${runId} +waiting_for_tool +\\d+s +- +waits for get \\{"what":"snow"\\}$`, 'm'),
    );
    expect((await asked(['show', runId])).stdout).toMatch(
      /\n\? Waits for its client: get {2}call_a\n {2}│ \{"what":"snow"\}\n {2}Answer it with: /,
    );
    expect(await asked(['answer', runId])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no terminal to ask on; give --output'),
    });
    expect(await asked(['answer', runId, '--output', 'a lot'])).toEqual({
      code: 0,
      stdout: '✓ answered: get {"what":"snow"}\n',
      stderr: '',
    });
    expect(await ended).toMatchObject({ code: 0, stdout: 'done\n' });
    expect(JSON.stringify(world.model.requests.at(-1)!.body.messages)).toContain('a lot');
    expect(await asked(['answer', runId, '--output', 'more'])).toMatchObject({
      code: 1,
      stderr: `${runId} waits for no output: it is completed\n`,
    });
    const watched = await asked(['watch', runId]);
    expect(watched.stderr).not.toContain('talaria answer');
  });

  test('needs a name when there are several; an output may come from stdin and be a failure', async () => {
    const calls = [get('rain', 'call_a1'), get('snow', 'call_a2'), get('sun', 'call_b')];
    const runId = await world.api.create(script([{ tools: calls }, { text: 'done' }]), { tools });
    await waitForStatus(world.api, runId, 'waiting_for_tool');
    expect((await asked(['runs', '--status', 'waiting_for_tool'])).stdout).toContain('and 2 more');
    for (const argv of [[], ['call_a']]) {
      expect(await asked(['answer', runId, ...argv, '-o', 'x'])).toEqual({
        code: 1,
        stdout: '',
        stderr: `Name the call; ${runId} waits for call_a1 (get {"what":"rain"}), call_a2 (get {"what":"snow"}), call_b (get {"what":"sun"})\n`,
      });
    }
    expect((await asked(['answer', runId, 'call_c', '-o', 'x'])).stderr).toMatch(
      /^None begins with call_c; /,
    );
    expect(await asked(['answer', runId, 'call_b', '-o', '-'], { input: '' })).toMatchObject({ code: 0 });
    expect(await asked(['answer', runId, 'call_a1', '-o', '-'], { input: 'wet' })).toMatchObject({ code: 0 });
    expect(await asked(['answer', runId, '-e', '-o', 'no snow'])).toMatchObject({
      stdout: '✗ failed: get {"what":"snow"}\n',
    });
    await waitForStatus(world.api, runId, 'completed');
    const told = JSON.stringify(world.model.requests.at(-1)!.body.messages);
    for (const output of ['wet', 'no snow']) expect(told).toContain(output);
  });
});

describe('ids', () => {
  test('may be shortened, with run_ or without, as long as they name one run', async () => {
    const runId = await world.api.create(script([{ text: 'short' }]));
    await waitForStatus(world.api, runId, 'completed');
    for (const given of [runId, runId.slice(0, 30), runId.slice(4, 28)]) {
      expect((await asked(['show', given])).stdout).toContain(`run      ${runId}\n`);
    }
    const { code, stderr } = await asked(['show', 'run_0']);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^(More than 5|\d+) runs begin with run_0: run_\w{32}, .*; give more of the id\n$/,
    );
  });

  test('are all there is with -q', async () => {
    const { stdout } = await asked(['runs', '-q', '-n', '3']);
    expect(stdout).toMatch(/^(run_\w{32}\n){3}$/);
    expect((await asked(['runs', '-a', '-q'])).stdout.split('\n').length).toBeGreaterThan(4);
  });
});

test('a reader that has read enough ends the command', async () => {
  const { child, ended } = spawnTalaria(world.server.url, [
    'run',
    '--json',
    script([{ gate: 'read-enough', text: 'x', tools: [bash('sleep 3600')] }]),
  ]);
  child.stdin.end();
  const first = await new Promise<string>((resolve) => child.stdout.once('data', resolve));
  const runId = JSON.parse(first.split('\n')[0]!).run_id;
  child.stdout.destroy();
  // Only now there is more to write: the command notices when it does.
  world.model.open('read-enough');
  expect((await ended).code).toBe(0);
  expect((await world.api.run(runId)).status).not.toBe('cancelled');
  await world.api.stop(runId);
});

const LEFT_ALONE = '%s leaves a watched run alone';
test.each([['SIGTERM', 143] as const])(LEFT_ALONE, leavesRunAlone);
test.each([['SIGHUP', 129] as const])(LEFT_ALONE, { tags: ['soak'] }, leavesRunAlone);

async function leavesRunAlone(signal: NodeJS.Signals, code: number): Promise<void> {
  const runId = await world.api.create(script([{ text: 'x', tools: [bash('sleep 3600')] }]));
  const { child, output, ended } = spawnTalaria(world.server.url, ['watch', runId]);
  child.stdin.end();
  await waitFor('the tool', () => /> terminal/.test(output.stderr));
  child.kill(signal);
  expect((await ended).code).toBe(code);
  expect(output.stderr).toContain(`Come back: talaria watch ${runId}\n`);
  expect((await world.api.run(runId)).status).toBe('running');
  await world.api.stop(runId);
}

describe('a server with a key', () => {
  test('gets the key; without it or with another the command says so and ends with 6', async () => {
    await using server = await ServerWithModel.start({ API_SERVER_KEY: 'right-key-0123456789' });
    const { url } = server.server;
    const ask = (env: Record<string, string>) => talaria(url, ['runs', '-q'], { env });
    expect(await ask({ TALARIA_API_KEY: 'right-key-0123456789' })).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    });
    expect(await ask({ HERMES_API_KEY: 'right-key-0123456789' })).toMatchObject({ code: 0 });
    expect(await ask({})).toEqual({
      code: 6,
      stdout: '',
      stderr: `The server at ${url} asks for an API key: set TALARIA_API_KEY\n`,
    });
    const wrong = await ask({ TALARIA_API_KEY: 'wrong-key-0123456789' });
    expect(wrong).toEqual({
      code: 6,
      stdout: '',
      stderr: `The server at ${url} refused the API key in TALARIA_API_KEY\n`,
    });
  });
});
