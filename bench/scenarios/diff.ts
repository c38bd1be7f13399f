/**
 * Diff: what a run changed in 1 000 files, as a patch over HTTP.
 *
 * Fair because the floor is `git diff --no-index` of the same two trees, read by the same process through a pipe. It reads plain
 * files, and the server reads checkpoints.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { LocalBackend } from '@talaria/sandbox/local';
import { CheckpointMaker } from '../../packages/server/src/checkpoints/checkpoint-maker.ts';
import { noReport } from '../../packages/server/src/telemetry/facts.ts';
import type { Row } from '../rows.ts';
import type { Stage } from '../stage.ts';
import { alternate } from '../statistics.ts';
import { openPrepared } from './prepared-runs.ts';

const ROUNDS = 7;
const FILES = 1_000;
const LINES = 200;
const log = { debug() {}, info() {}, warn() {}, error() {} };

export async function diff(stage: Stage): Promise<Row[]> {
  const dataDir = stage.directory();
  const before = join(stage.directory(), 'before');
  const { runId, after } = await prepareRun(dataDir, before);
  const server = await stage.server({ dataDir });
  const sides = {
    floor: () => duration(() => fromGit(before, after)),
    ours: () => duration(() => fetched(`${server.url}/v1/runs/${runId}/diff?format=patch`)),
  };
  await alternate(1, sides);
  const rounds = await alternate(ROUNDS, sides);
  return [
    {
      what: `diff of ${FILES} changed files`,
      unit: 'ms',
      better: 'less',
      ours: rounds.ours,
      floor: { name: 'git diff --no-index', rounds: rounds.floor },
      note: `one of ${LINES} lines of each file changed`,
    },
  ];
}

/** A run with two checkpoints; `before` becomes a copy of its first files. */
async function prepareRun(dataDir: string, before: string): Promise<{ runId: string; after: string }> {
  await using opened = new AsyncDisposableStack();
  const prepared = opened.use(await openPrepared(dataDir));
  const workspacesDir = join(dataDir, 'workspaces');
  const backend = new LocalBackend({ workspacesDir });
  await backend.start();
  opened.defer(() => backend.stop());
  const [claim] = await prepared.claimedRuns(1);
  const { runId } = claim!;
  await backend.release(await backend.acquire(runId));
  const after = join(workspacesDir, `t-${runId}`);
  const maker = new CheckpointMaker(runId, undefined, {
    workspaces: backend.workspaces,
    blobs: prepared.journal.blobs,
    limits: { maxBytes: 1e12, maxFileBytes: 1e12, ignore: [] },
    log,
    report: noReport,
  });
  const keep = async (upto: number, origin: 'prepared' | 'worked'): Promise<void> => {
    const { record, blobs } = (await maker.make(upto, origin))!;
    await prepared.journal.append(claim!, [{ event: 'workspace.checkpointed', private: record }], { blobs });
  };
  writeFiles(after, 'a line that stays');
  cpSync(after, before, { recursive: true });
  await keep(1, 'prepared');
  writeFiles(after, 'a line that changed');
  await keep(2, 'worked');
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  await prepared.journal.append(claim!, [{ event: 'run.completed', public: { output: 'done', usage } }]);
  return { runId, after };
}

function writeFiles(directory: string, middle: string): void {
  for (let i = 0; i < FILES; i++) {
    const lines = Array.from({ length: LINES }, (_, n) => `line ${n} of file ${i}`);
    lines[LINES / 2] = middle;
    mkdirSync(join(directory, `d${i % 20}`), { recursive: true });
    writeFileSync(join(directory, `d${i % 20}`, `file-${i}`), `${lines.join('\n')}\n`);
  }
}

async function duration(work: () => Promise<number>): Promise<number> {
  const startedAt = performance.now();
  const patched = await work();
  if (patched !== FILES) throw new Error(`The patch has ${patched} files`);
  return performance.now() - startedAt;
}

async function fetched(url: string): Promise<number> {
  const [response] = (await once(get(url), 'response')) as [IncomingMessage];
  return filesIn(response);
}

async function fromGit(before: string, after: string): Promise<number> {
  const git = spawn('git', ['diff', '--no-index', before, after], { stdio: ['ignore', 'pipe', 'inherit'] });
  return filesIn(git.stdout);
}

async function filesIn(patch: Readable): Promise<number> {
  const text = Buffer.concat(await patch.toArray()).toString();
  return text.match(/^diff --git /gm)?.length ?? 0;
}
