/** A run that waits for a worker: the command says so, and why. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ServerWithModel, waitForStatus } from '../e2e/server-with-model.ts';
import { script } from '../support/model-server.ts';
import { noTmux } from '../support/tmux.ts';
import { waitFor } from '../support/wait-for.ts';
import { spawnTalaria, talaria, talariaTerminal } from './talaria.ts';

const BUSY = '1st in line, all workers are busy';

let world: ServerWithModel;
beforeAll(async () => {
  world = await ServerWithModel.start({ TALARIA_MAX_CONCURRENT_RUNS: '1' });
});
afterAll(() => world[Symbol.asyncDispose]());

async function keepBusy(gate: string): Promise<void> {
  const runId = await world.api.create(script([{ gate, text: 'first' }]));
  await waitForStatus(world.api, runId, 'running');
}

test('run tells a file once that the run is queued, and show says the same', async () => {
  await keepBusy('file');
  const { output, ended } = spawnTalaria(world.server.url, ['run', script([{ text: 'second' }])]);
  await waitFor('the line', () => output.stderr.includes(`Queued, ${BUSY}\n`));
  const [queued] = (await world.api.list('?status=started')).data;
  const { stdout } = await talaria(world.server.url, ['show', queued!.run_id]);
  expect(stdout).toMatch(new RegExp(`^queue +${BUSY}$`, 'm'));
  world.model.open('file');
  const { code, stdout: answer, stderr } = await ended;
  expect({ code, answer }).toEqual({ code: 0, answer: 'second\n' });
  expect(stderr.split('Queued,')).toHaveLength(2);
});

test.skipIf(noTmux !== '')(
  `a terminal shows the place in the footer instead of "working"${noTmux}`,
  async () => {
    await keepBusy('terminal');
    await using terminal = await talariaTerminal(world.server.url, ['run', script([{ text: 'second' }])]);
    await terminal.shows(new RegExp(`queued .*${BUSY}`));
    world.model.open('terminal');
    await terminal.shows(/second/);
  },
);
