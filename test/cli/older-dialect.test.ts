/**
 * The command against a server of the older dialect, which does not number events, lists no runs and leaves fields out.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PlainServer } from '../support/plain-server/plain-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { spawnTalaria, talaria } from './talaria.ts';

let server: PlainServer;
beforeAll(async () => {
  server = await PlainServer.start();
});
afterAll(() => server[Symbol.asyncDispose]());

const ask = (...argv: string[]) => talaria(server.url, argv);

/** A run that the test plays, and the command that follows it. */
async function follow() {
  const previous = server.lastRun;
  const running = spawnTalaria(server.url, ['run', 'wait']);
  running.child.stdin.end();
  const run = await waitFor(
    'a reader',
    () => server.lastRun !== previous && server.lastRun?.connected && server.lastRun,
  );
  return { run, ...running };
}

test('a run is started, watched and shown', async () => {
  const { code, stdout, stderr } = await ask('run', 'hello');
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'You said: hello\n' });
  expect(stderr).toMatch(/^✓ completed in [\d.]+s · run_\w{32}\n$/);
  const shown = await ask('show', server.lastRun!.runId);
  expect(shown.code).toBe(0);
  expect(shown.stdout).toMatch(/^run +run_\w{32}\nstatus +completed\n\nYou said: hello\n$/);
});

test('shows tools without ids, and questions without details', async () => {
  const { run, output, ended } = await follow();
  run.emit('tool.started', { tool: 'terminal', preview: 'ls' });
  run.emit('tool.completed', { tool: 'terminal', duration: 0.5, error: false });
  run.emit('approval.request', { command: 'rm -rf x' });
  await waitFor('the question', () => /talaria approve/.test(output.stderr));
  expect(await ask('approve', run.runId, 'once')).toMatchObject({ code: 0 });
  expect(run.answers).toEqual([{ choice: 'once' }]);
  run.emit('run.completed', { output: 'done' });
  expect(await ended).toMatchObject({ code: 0, stdout: 'done\n' });
  expect(output.stderr).toMatch(/✓ terminal {2}ls {2}0\.5s\n\? Approval needed: a command\n {2}│ rm -rf x\n/);
});

test('a stopped run ends without a last event', async () => {
  const { run, ended } = await follow();
  expect(await ask('stop', run.runId)).toMatchObject({ code: 0, stdout: `${run.runId} cancelled\n` });
  expect(await ended).toMatchObject({ code: 4 });
});

test('says that a lost stream cannot be resumed', async () => {
  const { run, output, ended } = await follow();
  run.emit('tool.started', { tool: 'terminal', preview: 'ls' });
  await waitFor('the tool', () => /> terminal/.test(output.stderr));
  run.cut();
  const { code, stderr } = await ended;
  expect(code).toBe(5);
  expect(stderr).toMatch(/The stream of run_\w{32} was lost and cannot be resumed: .*\n$/);
});

describe('what it does not have is said clearly:', () => {
  test.each([
    ['a list', ['runs'], 'This server does not list its runs\n'],
    ['ids by their beginning', ['show', 'run_12'], 'This server does not list its runs; give the whole id\n'],
  ])('%s', async (_, argv, message) => {
    expect(await ask(...argv)).toEqual({ code: 1, stdout: '', stderr: message });
  });

  test('reads errors of every form', async () => {
    expect(await ask('show', `run_${'0'.repeat(32)}`)).toMatchObject({
      code: 1,
      stderr: `Run not found: run_${'0'.repeat(32)} (404)\n`,
    });
  });
});

test('says that a server has no jobs', async () => {
  const other = createServer(({ url }, response) =>
    url === '/health' ? response.end('{"status": "ok"}') : response.writeHead(404).end('404: Not Found'),
  );
  other.listen(0, '127.0.0.1');
  await once(other, 'listening');
  const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
  const { code, stdout, stderr } = await talaria(url, ['jobs', 'list']);
  other.close();
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toBe(`The server at ${url} has no scheduled runs (no /api/jobs)\n`);
});
