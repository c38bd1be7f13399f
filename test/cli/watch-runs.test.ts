/** `talaria runs --watch`: a table on a terminal, lines in a pipe, both through a restart of the server. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ServerWithModel } from '../e2e/server-with-model.ts';
import { script } from '../support/model-server.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { noTmux } from '../support/tmux.ts';
import { waitFor } from '../support/wait-for.ts';
import { spawnTalaria, talaria, talariaTerminal } from './talaria.ts';

let world: ServerWithModel<ServerProcess>;
beforeAll(async () => {
  world = await ServerWithModel.startProcess({ API_SERVER_PORT: await freePort() });
});
afterAll(() => world[Symbol.asyncDispose]());

/** The server has to come back at the same address. */
async function freePort(): Promise<string> {
  const { createServer } = await import('node:net');
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return String(port);
}

describe('in a pipe', () => {
  test('prints what there is, then each change once, also after a restart, until a signal', async () => {
    const before = await world.api.create('before');
    await world.api.finish(before);
    const { child, output, ended } = spawnTalaria(world.server.url, ['runs', '--watch']);
    await waitFor('the beginning', () => output.stdout.includes(`${before}  completed`));
    const during = await world.api.create(script([{ chunks: ['a', { gate: 'watched' }, 'b'] }]));
    await waitFor('the run', () => output.stdout.includes(`${during}  running`));
    world.model.open('watched');
    await waitFor('its end', () => output.stdout.includes(`${during}  completed`));
    await world.server.kill();
    await world.server.start();
    const after = await world.api.create('after');
    await waitFor('the run after the restart', () => output.stdout.includes(`${after}  completed`));
    expect(output.stderr).toContain('The connection is lost');
    const lines = output.stdout.split('\n').filter((line) => line !== '');
    expect(new Set(lines).size).toBe(lines.length);
    child.kill('SIGTERM');
    expect((await ended).code).toBe(143);
  });

  test('prints heads as lines of JSON, of the runs that fit the filter', async () => {
    const argv = ['runs', '--watch', '--json', '--session', 'watched'];
    const { child, output, ended } = spawnTalaria(world.server.url, argv);
    const other = await world.api.create('other');
    await world.api.finish(other);
    const mine = await world.api.create('mine', { session_id: 'watched' });
    await waitFor('its end', () => output.stdout.includes('"completed"'));
    child.kill('SIGINT');
    expect((await ended).code).toBe(130);
    const runs = output.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(new Set(runs.map(({ run_id }) => run_id))).toEqual(new Set([mine]));
    expect(runs.at(-1)).not.toHaveProperty('output');
  });

  test('does not search', async () => {
    const { code, stderr } = await talaria(world.server.url, ['runs', '--watch', '--search', 'x']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('--watch cannot be combined with --search')]);
  });
});

describe.skipIf(noTmux !== '')(`on a terminal${noTmux}`, () => {
  test('is a table that shows each run once, as it is now', async () => {
    await using terminal = await talariaTerminal(world.server.url, ['runs', '--watch', '-n', '3']);
    await terminal.shows(/RUN +STATUS +AGE/);
    const runId = await world.api.create(script([{ chunks: ['a', { gate: 'table' }, 'b'] }]));
    await terminal.shows(/run_\S+ +running/);
    world.model.open('table');
    await world.api.finish(runId);
    const screen = await terminal.hides(/ running /);
    expect(screen.match(/RUN +STATUS/g)).toHaveLength(1);
    expect(screen.match(/^run_/gm)!.length).toBeLessThanOrEqual(3);
  });
});
