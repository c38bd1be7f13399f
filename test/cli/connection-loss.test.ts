/** A lost connection and a killed server while a run is watched. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { terminal as bash, ServerWithModel } from '../e2e/server-with-model.ts';
import { script } from '../support/model-server.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { noTmux } from '../support/tmux.ts';
import { UnreliableProxy } from '../support/unreliable-proxy.ts';
import { waitFor } from '../support/wait-for.ts';
import { spawnTalaria, talariaTerminal } from './talaria.ts';

let world: ServerWithModel<ServerProcess>;
let proxy: UnreliableProxy;

beforeAll(async () => {
  world = await ServerWithModel.startProcess();
  proxy = await UnreliableProxy.start(() => world.server.url, 1);
});
afterAll(async () => {
  await proxy[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

async function restart(): Promise<void> {
  await world.server.kill();
  await world.server.start();
}

/** Prints something, is interrupted in the middle of the next text, and prints that again. */
const cutOff = (gate: string) =>
  script([
    { text: 'First.', tools: [bash('echo hello')] },
    { chunks: ['Second, in', { gate }, ' two parts.'] },
  ]);

test('events come once and in order over a cut connection', async () => {
  const { child, output, ended } = spawnTalaria(proxy.url, ['run', '--json', cutOff('cut')]);
  child.stdin.end();
  await waitFor('half a sentence', () => output.stdout.includes('Second, in'));
  proxy.cutAll();
  await waitFor('a new connection', () => proxy.connections > 0);
  world.model.open('cut');
  const { code, stdout, stderr } = await ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const [created, ...events] = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(created).toMatchObject({ run_id: expect.stringMatching(/^run_/), status: 'started' });
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index));
  expect(events.at(-1)).toMatchObject({ event: 'run.completed', output: 'Second, in two parts.' });
});

test('after a kill, piped output holds the answer once, and stderr tells the rest', {
  tags: ['soak'],
}, async () => {
  const { child, output, ended } = spawnTalaria(proxy.url, ['run', cutOff('kill')]);
  child.stdin.end();
  await world.model.waitingAt('kill');
  await waitFor('the tool to be shown', () => /✓ terminal/.test(output.stderr));
  await restart();
  world.model.open('kill');
  const { code, stdout, stderr } = await ended;
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'Second, in two parts.\n' });
  expect(stderr).toMatch(/^First\.\n> terminal {2}echo hello\n✓ terminal {2}echo hello/);
  expect(stderr).toContain('↻ The server was restarted and the run continues\n');
});

describe.skipIf(noTmux !== '')(`in a terminal${noTmux}`, () => {
  test('a lost connection is shown quietly, and invalid text is marked', async () => {
    await using terminal = await talariaTerminal(proxy.url, ['run', cutOff('terminal')]);
    await terminal.shows(/^Second, in$/m);
    await world.server.kill();
    const lost = await terminal.shows(/connection lost; trying again/);
    await world.server.start();
    const back = await terminal.shows(/comes again/);
    expect(back).toMatch(
      /^Second, in\n↻ The server was restarted and the run continues\n {2}What it said since “Second, in” is void and comes again:$/m,
    );
    expect(lost).toMatch(/^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] connection lost/m);
    world.model.open('terminal');
    expect(await terminal.exitCode()).toBe(0);
    const screen = await terminal.screen();
    expect(screen).toMatch(/again:\nSecond, in two parts\.\n\n✓ completed/);
    expect(screen).not.toContain('connection lost');
  });
});

test('gives up on a server that does not come back, with the exit code for that', async () => {
  const { child, output, ended } = spawnTalaria(proxy.url, ['watch', await world.api.create(cutOff('gone'))]);
  child.stdin.end();
  await waitFor('the tool to be shown', () => /✓ terminal/.test(output.stderr));
  await world.server.kill();
  await waitFor('the loss to be told', () => /^Connection lost; trying again$/m.test(output.stderr));
  child.kill('SIGTERM');
  const { code, stderr } = await ended;
  expect(code).toBe(143);
  expect(stderr).toMatch(/^Leaving; the run continues\.\nCome back: talaria watch run_\w{32}$/m);
});
