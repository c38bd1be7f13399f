/** Whatever is done to a workspace, captures in sequence say the same as one that lists everything. */
import { createHash } from 'node:crypto';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import type { CapturedEntry, WorkspaceCapture } from '../../captures.ts';
import { replay } from '../../testing/replay-captures.ts';
import { fileThread } from '../thread/file-thread.ts';

const base = mkdtempSync(join(tmpdir(), 'talaria-captures-'));
afterAll(() => rmSync(base, { recursive: true }));

const NAMES = ['a', 'b', 'é'];
const path = fc
  .array(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 3 })
  .map((names) => names.join('/'));
const text = fc.constantFrom('', 'x', 'y', 'longer text');

type Action =
  | { do: 'write'; path: string; text: string; keepsTime: boolean }
  | { do: 'mkdir' | 'remove'; path: string }
  | { do: 'link'; path: string; text: string }
  | { do: 'chmod'; path: string; mode: number }
  | { do: 'move'; path: string; to: string }
  | { do: 'capture' }
  /** The answer gets lost: the next capture is compared with the one before. */
  | { do: 'lose' };

const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('write' as const), path, text, keepsTime: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('mkdir' as const, 'remove' as const), path }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('link' as const), path, text }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('chmod' as const), path, mode: fc.constantFrom(0o644, 0o700) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('move' as const), path, to: path }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('capture' as const, 'lose' as const) }) },
);

test('captures in sequence replay to the tree', async () => {
  let count = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(action, { maxLength: 40 }), async (actions) => {
      const dir = join(base, `run ${count++}`);
      mkdirSync(dir);
      const take = (since?: string) =>
        fileThread.capture({ dir, owner: dir, since, limits: {}, contentBytes: 0 });
      const captures: WorkspaceCapture[] = [];
      for (const one of [...actions, { do: 'capture' } as const]) {
        if (one.do === 'lose') await take(captures.at(-1)?.captureId);
        if (one.do !== 'capture') {
          act(dir, one);
          continue;
        }
        captures.push(await take(captures.at(-1)?.captureId));
        expect(sorted(replay(captures))).toEqual(sorted(treeOf(dir)));
      }
      expect(sorted(replay([await take()]))).toEqual(sorted(treeOf(dir)));
    }),
    { numRuns: 60 },
  );
});

/** Skips an action that is not possible in this tree. */
function act(dir: string, action: Action): void {
  try {
    carryOut(dir, action);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
  }
}

function carryOut(dir: string, action: Action): void {
  if (!('path' in action)) return;
  const target = join(dir, action.path);
  switch (action.do) {
    case 'write': {
      const before = lstatSync(target, { throwIfNoEntry: false });
      if (before?.isSymbolicLink()) return;
      writeFileSync(target, action.text);
      if (before && action.keepsTime) utimesSync(target, before.atime, before.mtime);
      return;
    }
    case 'mkdir':
      mkdirSync(target, { recursive: true });
      return;
    case 'remove':
      rmSync(target, { recursive: true, force: true });
      return;
    case 'link':
      symlinkSync(action.text || 'nowhere', target);
      return;
    case 'chmod': {
      const stats = lstatSync(target);
      if (!stats.isSymbolicLink()) chmodSync(target, stats.isDirectory() ? action.mode | 0o700 : action.mode);
      return;
    }
    case 'move':
      renameSync(target, join(dir, action.to));
  }
}

function treeOf(dir: string, prefix = ''): Map<string, CapturedEntry> {
  const tree = new Map<string, CapturedEntry>();
  for (const name of readdirSync(join(dir, prefix))) {
    const path = prefix + name;
    const stats = lstatSync(join(dir, path));
    const entry = { path, mode: stats.mode & 0o777, modified_ms: stats.mtimeMs };
    if (stats.isDirectory()) {
      tree.set(path, { ...entry, type: 'directory', size: 0 });
      for (const [below, found] of treeOf(dir, `${path}/`)) tree.set(below, found);
    } else if (stats.isSymbolicLink()) {
      const target = readlinkSync(join(dir, path));
      tree.set(path, { ...entry, type: 'symlink', size: stats.size, target });
    } else {
      const sha256 = createHash('sha256')
        .update(readFileSync(join(dir, path)))
        .digest('hex');
      tree.set(path, { ...entry, type: 'file', size: stats.size, sha256 });
    }
  }
  return tree;
}

function sorted(tree: Map<string, CapturedEntry>): [string, CapturedEntry][] {
  return [...tree].sort(([one], [other]) => (one < other ? -1 : 1));
}
