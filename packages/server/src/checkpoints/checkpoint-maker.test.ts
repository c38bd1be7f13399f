/** Checkpoints of real workspaces: a local backend, and blobs in a directory. */
import { execFileSync } from 'node:child_process';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TrajectoryWorkspaces } from '@talaria/sandbox';
import { LocalBackend } from '@talaria/sandbox/local';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { Shell } from '../../../../test/support/shell.ts';
import type { Log } from '../basics/log.ts';
import { DirectoryBlobs } from '../blobs/directory-blobs.ts';
import { type Checkpoint, isMissed } from '../journal/checkpoints.ts';
import type { SmallBlob } from '../journal/contents.ts';
import { noReport } from '../telemetry/facts.ts';
import { type CheckpointLimits, CheckpointMaker, type MadeCheckpoint } from './checkpoint-maker.ts';
import { readTree } from './manifest.ts';

const log: Log = { debug() {}, info() {}, warn() {}, error() {} };
const NO_LIMITS: CheckpointLimits = { maxBytes: 1e9, maxFileBytes: 1e9, ignore: [] };

let directory: string;
let backend: LocalBackend;
let blobs: DirectoryBlobs;
let runs = 0;
let runId: string;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'checkpoints-'));
  backend = new LocalBackend({ workspacesDir: join(directory, 'workspaces') });
  await backend.start();
  blobs = new DirectoryBlobs({ path: join(directory, 'blobs') });
});
afterAll(async () => {
  await backend.stop();
  rmSync(directory, { recursive: true, force: true });
});
beforeEach(async () => {
  runId = `run_${runs++}`;
  await backend.release(await backend.acquire(runId));
});

const workspace = (id = runId) => join(directory, 'workspaces', `t-${id}`);
const bash = new Shell();
afterAll(() => bash.close());
const sh = async (command: string, id = runId) => String(await bash.run(workspace(id), `set +e; ${command}`));
/** Everything in a workspace: kinds, permissions, targets and contents. */
function describeFiles(id = runId): string {
  const found: string[] = [];
  const walk = (directory: Buffer, above: string): void => {
    for (const name of readdirSync(directory, 'buffer')) {
      const at = Buffer.concat([directory, Buffer.from('/'), name]);
      const path = above + name.toString('latin1');
      const stats = lstatSync(at);
      const mode = (stats.mode & 0o7777).toString(8);
      if (stats.isDirectory()) {
        found.push(`${path} directory ${mode}`);
        walk(at, `${path}/`);
      } else if (stats.isSymbolicLink()) found.push(`${path} link ${readlinkSync(at, 'latin1')}`);
      else if (stats.isFile()) found.push(`${path} file ${mode} ${readFileSync(at, 'base64')}`);
      else found.push(`${path} special`);
    }
  };
  walk(Buffer.from(workspace(id)), '');
  return found.sort().join('\n');
}
/** Stores the small blobs, as a journal does with the record. */
class StoringMaker extends CheckpointMaker {
  override async make(...given: Parameters<CheckpointMaker['make']>) {
    const made = await super.make(...given);
    for (const blob of made?.blobs ?? []) if ('bytes' in blob) await blobs.put(blob.blobId, one(blob.bytes));
    return made;
  }
}

async function* one(bytes: Uint8Array) {
  yield bytes;
}

const checkpoints = (
  options: { last?: Checkpoint; limits?: CheckpointLimits; of?: TrajectoryWorkspaces; id?: string } = {},
) =>
  new StoringMaker(options.id ?? runId, options.last, {
    workspaces: options.of ?? backend.workspaces,
    blobs,
    limits: options.limits ?? NO_LIMITS,
    log,
    report: noReport,
  });

function kept(made: MadeCheckpoint | undefined): Checkpoint {
  if (made === undefined || isMissed(made.record))
    throw new Error(`Nothing was kept: ${JSON.stringify(made)}`);
  return made.record;
}

/** Restores the checkpoint as the workspace of another run; returns that run. */
async function restored(checkpoint: Checkpoint): Promise<string> {
  const id = `run_${runs++}`;
  expect(await checkpoints({ id }).restore(checkpoint)).toBeDefined();
  return id;
}

it('a run without a workspace has no checkpoint', async () => {
  expect(await checkpoints({ id: 'run_none' }).make(1, 'worked')).toBeUndefined();
});

it('is restored with files, directories, links, permissions and times', async () => {
  await sh(
    'mkdir -p a/b; echo one > a/b/one; chmod 640 a/b/one; touch -d @1500000000.5 a/b/one; ln -s b/one a/link; : > empty',
  );
  await sh('chmod 750 a/b; touch -d @1400000000 a/b');
  const id = await restored(kept(await checkpoints().make(3, 'worked')));
  expect(describeFiles(id)).toBe(describeFiles());
  expect(await sh('stat -c %.Y a/b/one a/b', id)).toBe('1500000000.500000000\n1400000000.000000000\n');
});

it('stores what changed, and nothing that did not', async () => {
  const made = checkpoints();
  await sh('head -c 100000 /dev/urandom > large; echo one > small');
  const first = await made.make(1, 'worked');
  expect(first!.blobs).toHaveLength(1);
  const unchanged = await made.make(2, 'worked');
  expect(unchanged).toMatchObject({ blobs: [], record: { upto: 2, parts: kept(first).parts } });
  await sh('echo two > small; cp large copy; mv large moved');
  const second = await made.make(3, 'worked');
  expect(kept(second).stored_bytes - kept(first).stored_bytes).toBeLessThan(2_000);
  expect(describeFiles(await restored(kept(second)))).toBe(describeFiles());
});

it('every checkpoint stays as it was, whatever comes after it', async () => {
  const made = checkpoints();
  // The first, the ones around the first whole list after it, and some between them.
  const compared = new Set([0, 5, 10, 14, 15, 16, 17]);
  const states: { checkpoint: Checkpoint; state: string | undefined }[] = [];
  for (let i = 0; i < 18; i++) {
    await sh(
      `echo ${i} > file-${i % 7}; rm -rf dir-${(i + 1) % 3}; mkdir -p dir-${i % 3}/sub; echo ${i} > dir-${i % 3}/sub/x`,
    );
    const checkpoint = kept(await made.make(i, 'worked'));
    states.push({ checkpoint, state: compared.has(i) ? describeFiles() : undefined });
  }
  // Lists of changes are followed by whole ones, so that no checkpoint consists of too many parts.
  expect(Math.max(...states.map(({ checkpoint }) => checkpoint.parts.length))).toBe(16);
  for (const i of compared) {
    const { checkpoint, state } = states[i]!;
    expect(describeFiles(await restored(checkpoint))).toBe(state);
  }
});

it('a new owner continues from the last checkpoint, without storing everything again', async () => {
  await sh('head -c 100000 /dev/urandom > large');
  const last = kept(await checkpoints().make(1, 'worked'));
  await sh('echo more > small');
  const next = kept(await checkpoints({ last }).make(2, 'worked'));
  expect(next.stored_bytes - last.stored_bytes).toBeLessThan(2_000);
  expect(next.parts).toHaveLength(2);
  expect(describeFiles(await restored(next))).toBe(describeFiles());
});

it('says which files it does not have', async () => {
  await sh(
    'echo small > small; head -c 5000 /dev/zero > large; mkfifo pipe; mkdir -p node_modules/x; echo x > node_modules/x/y',
  );
  const limits = { maxBytes: 1e9, maxFileBytes: 4096, ignore: ['node_modules'] };
  const checkpoint = kept(await checkpoints({ limits }).make(1, 'worked'));
  const omitted = checkpoint.omitted!.map(({ path, reason }) => `${path} ${reason}`).sort();
  expect(omitted).toEqual(['large too_large', 'node_modules ignored', 'pipe special']);
  expect(checkpoint.omitted_count).toBe(3);
  expect([...(await readTree(checkpoint.parts, blobs)).keys()]).toEqual(['small']);
});

it('says once that the files became too large, and when they are kept again', async () => {
  const limits = { ...NO_LIMITS, maxBytes: 4096 };
  const made = checkpoints({ limits });
  await sh('echo small > small');
  const first = kept(await made.make(1, 'worked'));
  await sh('head -c 5000 /dev/urandom > large');
  expect(await made.make(2, 'worked')).toEqual({ record: { upto: 2, missed: 'too_large' }, blobs: [] });
  await sh('echo more >> small');
  expect(await made.make(3, 'worked')).toBeUndefined();
  await sh('rm large');
  const last = kept(await made.make(4, 'worked'));
  expect(last.parts.slice(0, 1)).toEqual(first.parts);
  expect(describeFiles(await restored(last))).toBe(describeFiles());
});

it('names the blobs that its files need, and no others; none once they are gone', async () => {
  const made = checkpoints();
  await sh('echo one > one; echo two > two');
  const first = await made.make(1, 'worked');
  await sh('echo three > three');
  const second = await made.make(2, 'worked');
  const ids = [first, second].map((each) => each!.blobs[0]!.blobId);
  expect((await made.blobsOf(kept(second)))?.sort()).toEqual(ids.toSorted());
  expect(await made.blobsOf(kept(first))).toEqual([ids[0]]);
  await blobs.remove(ids);
  expect(await checkpoints().blobsOf(kept(first))).toBeUndefined();
});

it('a small change comes with its bytes, a large one is a blob of the store', async () => {
  const made = checkpoints();
  await sh('head -c 200000 /dev/urandom > large');
  const [large] = (await made.make(1, 'worked'))!.blobs;
  expect(large).toEqual({ blobId: expect.any(String), writtenAt: expect.any(Number) });
  await sh('echo one > small');
  const [small] = (await made.make(2, 'worked'))!.blobs;
  expect(Buffer.from((small as SmallBlob).bytes).toString()).toMatch(/^one\n\{"removed"/);
});

it('files that the capture brought are not read again', async () => {
  const read: string[] = [];
  const noting = new Proxy(backend.workspaces, {
    get(target, name) {
      if (name === 'readFiles') {
        return (...given: Parameters<TrajectoryWorkspaces['readFiles']>) => {
          read.push(...given[1].map(({ path }) => path));
          return target.readFiles(...given);
        };
      }
      const value = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const made = checkpoints({ of: noting });
  await sh('echo one > one; echo one > twin; : > empty; head -c 200000 /dev/urandom > large');
  expect(describeFiles(await restored(kept(await made.make(1, 'worked'))))).toBe(describeFiles());
  await sh('echo two > one');
  expect(describeFiles(await restored(kept(await made.make(2, 'worked'))))).toBe(describeFiles());
  expect(read).toEqual(['large']);
});

it('a file that changes or vanishes while it is read is kept as it was read, or not at all', async () => {
  await sh('echo old > changing; echo same > a; echo same > b; echo gone > vanishing');
  const meddling = new Proxy(backend.workspaces, {
    get(target, name) {
      // As with one on another machine, which brings no contents.
      if (name === 'capture') {
        return async (...[id, options]: Parameters<TrajectoryWorkspaces['capture']>) =>
          target.capture(id, { ...options, contentBytes: 0 });
      }
      if (name === 'readFiles') {
        return (...given: Parameters<TrajectoryWorkspaces['readFiles']>) => {
          writeFileSync(join(workspace(), 'changing'), 'newer\n');
          rmSync(join(workspace(), 'vanishing'), { force: true });
          writeFileSync(join(workspace(), 'a'), 'other\n');
          return target.readFiles(...given);
        };
      }
      const value = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const made = checkpoints({ of: meddling });
  const id = await restored(kept(await made.make(1, 'worked')));
  expect(await sh('cat changing a b; ls', id)).toBe('newer\nother\nsame\na\nb\nchanging\n');
  const next = kept(await made.make(2, 'worked'));
  expect(describeFiles(await restored(next))).toBe(describeFiles());
});

const same = 'whatever happens to files, names and kinds, a checkpoint has the same';
it(same, () => changeFiles(2));
it(`${same}, more often`, { tags: ['soak'] }, () => changeFiles(20));

async function changeFiles(numRuns: number): Promise<void> {
  const name = fc.constantFrom('a', 'b', 'ä', 'a/x', 'a/y', 'b/x/z', String.raw`\xff`);
  const change = fc.record({
    name,
    kind: fc.constantFrom('file', 'link', 'directory', 'gone'),
    text: fc.nat(3),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(change, { maxLength: 4 }), { maxLength: 6 }), async (steps) => {
      const id = `run_${runs++}`;
      await backend.release(await backend.acquire(id));
      const made = checkpoints({ id });
      for (const [upto, changes] of steps.entries()) {
        const commands = changes.map(({ name, kind, text }) => {
          const path = `"$(printf '${name}')"`;
          const parent = `mkdir -p "$(dirname ${path})" 2>/dev/null`;
          const make = {
            file: `echo ${text} > ${path}`,
            link: `ln -s ${text} ${path}`,
            directory: `mkdir ${path}`,
            gone: ':',
          };
          return `rm -rf ${path}; ${parent} && ${make[kind]} || :`;
        });
        await sh(commands.join('\n'), id);
        const checkpoint = kept(await made.make(upto, 'worked'));
        expect(describeFiles(await restored(checkpoint))).toBe(describeFiles(id));
      }
    }),
    { numRuns },
  );
}

it('a checkpoint whose bytes are gone is not restored', async () => {
  mkdirSync(workspace(), { recursive: true });
  writeFileSync(join(workspace(), 'file'), 'text');
  const made = await checkpoints().make(1, 'worked');
  await blobs.remove(made!.blobs.map(({ blobId }) => blobId));
  expect(await checkpoints({ id: 'run_gone' }).restore(kept(made))).toBeUndefined();
});

it.skipIf(!canMount())(
  'files that the disk has no room for are missed, once, and the next ones are kept',
  async () => {
    const path = join(directory, 'small');
    mkdirSync(path);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=512k', 'tmpfs', path]);
    try {
      const maker = new CheckpointMaker(runId, undefined, {
        workspaces: backend.workspaces,
        blobs: new DirectoryBlobs({ path: join(path, 'blobs') }),
        limits: NO_LIMITS,
        log,
        report: noReport,
      });
      await sh('head -c 1M /dev/urandom > large');
      expect(await maker.make(1, 'worked')).toEqual({ record: { upto: 1, missed: 'failed' }, blobs: [] });
      expect(await maker.make(2, 'worked')).toBeUndefined();
      await sh('rm large; echo fits > small');
      expect(kept(await maker.make(3, 'worked'))).toMatchObject({ upto: 3, entries: 1 });
    } finally {
      execFileSync('umount', [path]);
    }
  },
);

/** Whether this machine lets the tests have a disk that is full. */
function canMount(): boolean {
  const path = mkdtempSync(join(tmpdir(), 'mount-'));
  try {
    execFileSync('sh', ['-c', 'mount -t tmpfs tmpfs "$0" && umount "$0"', path], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  } finally {
    rmSync(path, { recursive: true });
  }
}
