/**
 * A server with something to show: two weeks of finished runs, a project whose tests are being fixed, a question, a failed
 * run, a chat, jobs and rules. Everything of today is done by real runs of a scripted model.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createRunId } from '@talaria/protocol';
import { SqliteJournal } from '../../packages/server/src/journal/sqlite/sqlite-journal.ts';
import { type DashboardServer, startDashboardServer } from '../../test/dashboard/support/dashboard-server.ts';
import { type Step, script } from '../../test/support/model-server.ts';
import { waitFor } from '../../test/support/wait-for.ts';

export interface Demo extends AsyncDisposable {
  dash: DashboardServer;
  /** A finished run that changed files. */
  fixed: string;
  /** A run that asks, and its question. */
  asking: string;
  question: string;
}

const PROJECT = fileURLToPath(new URL('../../examples/failing-tests/', import.meta.url));
const DAY_MS = 86_400_000;

export async function startDemo(): Promise<Demo> {
  const dataDir = mkdtempSync(join(tmpdir(), 'talaria-demo-'));
  await writeHistory(dataDir);
  const dash = await startDashboardServer({
    dataDir,
    env: {
      API_SERVER_KEY: '',
      TALARIA_APPROVALS_UNISOLATED: 'ask',
      TALARIA_APPROVALS_ISOLATED: 'ask',
      TALARIA_RUN_RETENTION_SECONDS: '2592000',
    },
  });
  return {
    dash,
    ...(await fill(dash)),
    async [Symbol.asyncDispose]() {
      await dash[Symbol.asyncDispose]();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** The script is in the instructions, where no page shows it. */
const play = (input: string, steps: Step[]) => ({ input, instructions: script(steps) });
const call = (name: string, fields: Record<string, unknown>) => ({ name, arguments: fields });
const terminal = (command: string) => call('terminal', { command });
const usage = (input: number) => ({ input, output: Math.round(input / 20) });

async function fill(dash: DashboardServer): Promise<Omit<Demo, 'dash' | typeof Symbol.asyncDispose>> {
  const { client } = dash;
  const project = { files: await projectFiles() };

  await client.jobs.create({
    name: 'Nightly report',
    schedule: '0 7 * * 1-5',
    timezone: 'Europe/Berlin',
    prompt: 'Summarise the failed runs of yesterday, and open an issue for each cause that is new.',
  });
  const { id: job } = await client.jobs.create({
    name: 'Check the links of the handbook',
    schedule: 'every 6h',
    prompt: 'Follow every link of the handbook and list those that are dead.',
  });
  await client.jobs.run(job);

  await client.runs.run({
    ...play('What changed in the parser this week?', [
      {
        text: 'Three fixes:\n\n- **Empty input** gives an empty list instead of an error.\n- `CRLF` at the end of a file is one line end.\n- The table of tokens is built **once**, not for each file.\n',
        tools: [terminal('git log --oneline -5 2>/dev/null || echo no repository')],
        usage: usage(6200),
      },
      { text: 'In short: nothing that changes the grammar.', usage: usage(6900) },
    ]),
    session_id: 'parser',
  });
  await client.runs.run({
    ...play('Import customers.csv into the database', [
      { tools: [terminal('test -f customers.csv')], usage: usage(3100) },
      { error: { status: 400, message: 'The provider refused the request' } },
    ]),
  });
  const allowed = await client.runs.create({
    ...play('Empty the caches of the staging server', [
      { tools: [terminal('rm -rf .cache/assets')], usage: usage(2400) },
      { text: 'The caches are empty.', usage: usage(2500) },
    ]),
    session_id: 'staging',
  });
  await answer(dash, allowed.run_id, { choice: 'session' });
  const denied = await client.runs.create({
    ...play('Free some space on the build machine', [
      { tools: [terminal('docker system prune --all --force')], usage: usage(4200) },
      { text: 'I leave the images alone and list what is large instead.', usage: usage(4400) },
    ]),
  });
  await answer(dash, denied.run_id, { choice: 'deny', message: 'Keep the images: the release needs them' });

  const fixed = await client.runs.create({
    ...play('Make the tests pass', [
      {
        reasoning:
          'The name of the test says what is expected: one dash, however much stands between two words.',
        text: 'I run the tests first, to see what fails.',
        delayMs: 120,
        tools: [terminal('FORCE_COLOR=1 node --test --test-reporter=spec 2>&1 | head -40')],
        usage: usage(11_800),
      },
      {
        text: 'One of three fails: `slug` replaces every character by a dash of its own. The expression needs a `+`.',
        delayMs: 150,
        tools: [
          call('patch', {
            path: 'src/slug.js',
            old_string: "    .replace(/[^a-z0-9]/g, '-')",
            new_string: "    .replace(/[^a-z0-9]+/g, '-')",
          }),
          call('write_file', {
            path: 'CHANGELOG.md',
            content: '# Changes\n\n- Several characters between two words become one dash.\n',
          }),
        ],
        usage: usage(12_900),
      },
      { tools: [terminal('FORCE_COLOR=1 node --test --test-reporter=spec 2>&1')], usage: usage(13_600) },
      {
        text: 'All three tests pass.\n\n| file | change |\n|---|---|\n| `src/slug.js` | one dash for several characters |\n| `CHANGELOG.md` | says so |\n',
        delayMs: 150,
        usage: usage(14_100),
      },
    ]),
    workspace: project,
    session_id: 'slugs',
  });
  await client.runs.wait(fixed.run_id);

  const asking = await client.runs.create({
    ...play('Build the release from a clean directory', [
      {
        text: 'The build directory is stale: it has files of two versions. I remove it and build again.',
        delayMs: 100,
        tools: [call('read_file', { path: 'package.json' }), terminal('ls -la')],
        usage: usage(15_200),
      },
      { tools: [terminal('rm -rf build dist && npm run build')], usage: usage(15_900) },
      { text: 'Built.' },
    ]),
    workspace: project,
    session_id: 'release',
  });
  const { request_id } = await waitFor(
    'a question',
    async () => (await client.runs.get(asking.run_id)).approval,
  );
  const watching = await client.runs.create({
    ...play('Watch the deployment and tell me when it is healthy', [
      { tools: [call('todo', {})], usage: usage(9100) },
      { hang: 'before' },
    ]),
  });
  await waitFor('its first step', async () => (await client.runs.get(watching.run_id)).steps === 1);
  return { fixed: fixed.run_id, asking: asking.run_id, question: request_id };
}

async function answer(
  { client }: DashboardServer,
  runId: string,
  answer: { choice: 'session' | 'deny'; message?: string },
): Promise<void> {
  const { request_id } = await waitFor('a question', async () => (await client.runs.get(runId)).approval);
  await client.runs.respondApproval(runId, { ...answer, request_id });
  await client.runs.wait(runId);
}

async function projectFiles(): Promise<{ path: string; content: string }[]> {
  const entries = await readdir(PROJECT, { recursive: true, withFileTypes: true });
  return Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map(async ({ parentPath, name }) => {
        const path = join(parentPath, name);
        return { path: path.slice(PROJECT.length), content: await readFile(path, 'utf8') };
      }),
  );
}

const EARLIER = [
  'Review the open pull requests',
  'Translate the release notes into German',
  'Find out why the nightly build is slow',
  'Update the dependencies',
  'Write tests for the importer',
  'Answer the questions in the support inbox',
];
/** How many runs each of the last days had, the oldest first: fewer at weekends. */
const RUNS_PER_DAY = [6, 9, 7, 11, 8, 2, 1, 7, 12, 10, 13, 9, 3];

/** Finished runs of the days before, through the journal: nobody wants to wait for them. */
async function writeHistory(dataDir: string): Promise<void> {
  let now = 0;
  const journal = await SqliteJournal.open({ path: join(dataDir, 'talaria.db'), now: () => now });
  const today = new Date().setHours(9, 0, 0, 0);
  for (const [day, runs] of RUNS_PER_DAY.entries()) {
    for (let n = 0; n < runs; n++) {
      now = today - (RUNS_PER_DAY.length - day) * DAY_MS + n * 2_400_000;
      const runId = createRunId(now);
      const text = EARLIER[(day * 5 + n) % EARLIER.length]!;
      const request = { prompt: text, shown_input: text, session_named: false };
      await journal.createRun(
        { runId, owner: 'local', sessionId: runId, request },
        { maxQueued: 10, ownerShare: 10 },
      );
      const [claim] = await journal.claim('demo', 3_600_000, 1);
      const input = 9_000 + ((day * 31 + n * 17) % 23) * 2_100;
      const spent = { input_tokens: input, output_tokens: input / 10, total_tokens: input * 1.1 };
      const step = { step: 1, duration: 42, usage: spent, finish_reason: 'stop' as const };
      now += 240_000 + n * 60_000;
      await journal.append(claim!, [
        { event: 'step.completed', public: step, private: { content: [], usage: spent, reason: 'stop' } },
        { event: 'run.completed', public: { output: 'Done.', usage: spent } },
      ]);
    }
  }
  await journal.close();
}
