/**
 * Archive: a workspace of 2 000 small files and one large one, fetched over HTTP, in megabytes of content a second.
 *
 * Fair because the floor is tar(1) on the same directory, read by the same process through a pipe; for `tar.gz` it
 * compresses at the same level. The floor has no HTTP in between, and the server walks by descriptor.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { Row } from '../rows.ts';
import type { Stage } from '../stage.ts';
import { alternate } from '../statistics.ts';
import { openPrepared } from './prepared-runs.ts';

const ROUNDS = 7;
const SMALL_FILES = 2_000;
const SMALL_BYTES = 4_000;
const LARGE_BYTES = 120_000_000;
/** Compression is slow on both sides; a part of the large file is enough. */
const COMPRESSED_BYTES = 24_000_000;
const MEGABYTE = 1_000_000;

export async function archive(stage: Stage): Promise<Row[]> {
  const dataDir = stage.directory();
  const runId = await prepareRun(dataDir);
  const workspace = join(dataDir, 'workspaces', `t-${runId}`);
  const plain = writeFiles(join(workspace, 'plain'), LARGE_BYTES);
  const compressed = writeFiles(join(workspace, 'compressed'), COMPRESSED_BYTES);
  const server = await stage.server({ dataDir });
  const url = `${server.url}/v1/runs/${runId}/artifacts/archive`;
  const note = `${SMALL_FILES} files of ${SMALL_BYTES} bytes and a large one; half of the content is random`;

  const rows: Row[] = [];
  for (const [format, directory, bytes] of [
    ['tar', 'plain', plain],
    ['tar.gz', 'compressed', compressed],
  ] as const) {
    const flags = format === 'tar' ? '-cf' : '-czf';
    const sides = {
      floor: () => rate(bytes, () => fromTar(join(workspace, directory), flags)),
      ours: () => rate(bytes, () => fetched(`${url}?path=${directory}&format=${format}`)),
    };
    await alternate(1, sides);
    const rounds = await alternate(ROUNDS, sides);
    rows.push({
      what: `archive, ${format}`,
      unit: 'MB/s',
      better: 'more',
      ours: rounds.ours,
      floor: { name: `tar ${flags} -`, rounds: rounds.floor },
      ...(format === 'tar' && { aim: { of: 'ratio', atLeast: 0.6 } }),
      note,
    });
  }
  return rows;
}

async function prepareRun(dataDir: string): Promise<string> {
  await using prepared = await openPrepared(dataDir);
  const [claim] = await prepared.claimedRuns(1);
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  await prepared.journal.append(claim!, [{ event: 'run.completed', public: { output: 'done', usage } }]);
  return claim!.runId;
}

/** Returns the bytes of content. */
function writeFiles(directory: string, largeBytes: number): number {
  mkdirSync(directory, { recursive: true });
  for (let i = 0; i < SMALL_FILES; i++) writeFileSync(join(directory, `file-${i}`), halfRandom(SMALL_BYTES));
  writeFileSync(join(directory, 'large'), halfRandom(largeBytes));
  return SMALL_FILES * SMALL_BYTES + largeBytes;
}

function halfRandom(bytes: number): Buffer {
  return Buffer.concat([randomBytes(bytes / 2), Buffer.alloc(bytes / 2, 'the same line again and again\n')]);
}

async function rate(bytes: number, archived: () => Promise<number>): Promise<number> {
  const startedAt = performance.now();
  const received = await archived();
  if (received < bytes / 3) throw new Error(`The archive has ${received} bytes for ${bytes} of content`);
  return bytes / MEGABYTE / ((performance.now() - startedAt) / 1000);
}

async function fetched(url: string): Promise<number> {
  const [response] = (await once(get(url), 'response')) as [IncomingMessage];
  if (response.statusCode !== 200) throw new Error(`${url} answered ${response.statusCode}`);
  return lengthOf(response);
}

async function fromTar(directory: string, flags: string): Promise<number> {
  const tar = spawn('tar', [flags, '-', '-C', directory, '.'], { stdio: ['ignore', 'pipe', 'inherit'] });
  return lengthOf(tar.stdout);
}

async function lengthOf(stream: Readable): Promise<number> {
  let received = 0;
  for await (const chunk of stream) received += chunk.length;
  return received;
}
