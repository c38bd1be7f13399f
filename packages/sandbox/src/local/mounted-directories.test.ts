/** A directory of the operator as a workspace: calls change it, and nothing that happens to workspaces deletes it. */
import { existsSync, readdirSync, renameSync, symlinkSync } from 'node:fs';
import {
  chown,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ExecutionResult, Isolation, Slot } from '../backend.ts';
import { DISK } from '../testing/disk.ts';
import { LocalBackend, type LocalBackendOptions } from './local-backend.ts';
import { tagsOf, whyUnavailable } from './testing/why-unavailable.ts';

const KINDS: Isolation['kind'][] = ['bubblewrap', 'unshare', 'none'];
const IS_ROOT = process.getuid?.() === 0;
const RUN = 'run_0123';

for (const kind of KINDS) {
  const reason = await whyUnavailable(kind);
  const title = reason === undefined ? kind : `${kind} (missing: ${reason})`;
  describe.skipIf(reason !== undefined)(title, { tags: await tagsOf(kind) }, () => describeMounts(kind));
}

function describeMounts(kind: Isolation['kind']): void {
  let base: string;
  let dir: string;
  let onDisk: string | undefined;
  /** For all tests: a start tries out the isolation. A test may stop it, or put another in its place. */
  let shared: LocalBackend;
  let backend: LocalBackend;
  let slot: Slot;
  /** A server with rights gives each slot a user, and its directories have other ones. */
  const owner = IS_ROOT && kind !== 'none' ? { uid: 12_345, gid: 23_456 } : undefined;

  const create = (options: Partial<LocalBackendOptions> = {}) =>
    new LocalBackend({
      workspacesDir: join(base, 'workspaces'),
      isolation: kind,
      mountable: [dir],
      ...options,
    });
  const bash = async (command: string): Promise<ExecutionResult> =>
    (await backend.executeBatch([[slot, 'bash', { command }]]))[0] as ExecutionResult;
  const own = async (path: string) => {
    if (owner) await chown(path, owner.uid, owner.gid);
  };

  /** Begins again with a directory on another file system, one that counts what is written to it. */
  const mountOnDisk = async (options: Partial<LocalBackendOptions> = {}): Promise<string> => {
    onDisk = await realpath(await mkdtemp(join(DISK, 'talaria-mounts-')));
    await own(onDisk);
    await backend.stop();
    backend = create({ mountable: [onDisk], ...options });
    await backend.start();
    await backend.workspaces.discard(RUN);
    await backend.workspaces.mount(RUN, onDisk);
    return onDisk;
  };

  beforeAll(async () => {
    base = await realpath(await mkdtemp(join(tmpdir(), 'talaria-mounts-')));
    dir = join(base, 'project');
    shared = create();
  });

  beforeEach(async () => {
    onDisk = undefined;
    await mkdir(dir);
    await writeFile(join(dir, 'README.md'), 'hello\n');
    await Promise.all([own(dir), own(join(dir, 'README.md'))]);
    backend = shared;
    await backend.start();
    await backend.workspaces.discard(RUN);
    await backend.workspaces.mount(RUN, dir);
    slot = await backend.acquire(RUN);
  });

  afterEach(async () => {
    if (backend !== shared) await backend.stop();
    await shared.release(slot);
    const made = (await readdir(base)).filter((name) => name !== 'workspaces');
    for (const each of [...made.map((name) => join(base, name)), onDisk])
      if (each) await rm(each, { recursive: true, force: true });
  });

  afterAll(async () => {
    await shared.stop();
    await rm(base, { recursive: true, force: true });
  });

  test('commands and file tools change the directory itself, as its owner', async () => {
    expect(
      await bash('echo more >> README.md; mkdir -p src; echo 1 > src/new.txt; echo "$HOME"'),
    ).toMatchObject({
      success: true,
      output: kind === 'none' ? expect.stringContaining('/tmp\n') : '/tmp\n',
    });
    await backend.executeBatch([[slot, 'write_file', { path: 'src/tool.txt', content: '2' }]]);
    expect(await readFile(join(dir, 'README.md'), 'utf8')).toBe('hello\nmore\n');
    const expected = await lstat(dir);
    for (const path of ['src', 'src/new.txt', 'src/tool.txt']) {
      expect(await lstat(join(dir, path))).toMatchObject({ uid: expected.uid, gid: expected.gid });
    }
    const { uid, mode } = await lstat(join(dir, 'README.md'));
    expect({ uid, mode: mode & 0o777 }).toEqual({ uid: expected.uid, mode: 0o644 });
  });

  // The rest is the same code under every isolation.
  describe('beside its commands', { tags: kind === 'none' ? ['soak'] : [] }, () => {
    test.skipIf(kind === 'none')('a link in the directory leads to nothing of the host', async () => {
      await writeFile(join(base, 'secret'), 'of the host');
      await symlink(join(base, 'secret'), join(dir, 'out'));
      await symlink('..', join(dir, 'up'));
      const { output } = await bash('cat out up/secret; ls up');
      expect(output).not.toContain('of the host');
      expect(output).not.toContain('project');
      const [read] = await backend.executeBatch([[slot, 'read_file', { path: 'out' }]]);
      expect(read).toMatchObject({ success: false, error: expect.stringContaining('symbolic link') });
      await expect((await backend.workspaces.open(RUN))?.open('out')).rejects.toMatchObject({
        code: 'invalid_path',
      });
      await expect((await backend.workspaces.open(RUN))?.open('../secret')).rejects.toMatchObject({
        code: 'invalid_path',
      });
    });

    test('a call in a directory that is gone says so without its path, and works again when it is back', async () => {
      await bash('echo more >> README.md');
      renameSync(dir, `${dir}-moved`);
      const calls = [
        ['bash', { command: 'cat README.md' }],
        ['read_file', { path: 'README.md' }],
        ['write_file', { path: 'new', content: 'x' }],
        ['search_files', { pattern: 'more' }],
      ] as const;
      const results = await backend.executeBatch(calls.map(([tool, args]) => [slot, tool, args]));
      for (const [i, result] of results.entries()) {
        expect(result, calls[i]![0]).toMatchObject({ success: false });
        expect((result as ExecutionResult).error, calls[i]![0]).not.toContain(base);
      }
      expect(results[0]).toMatchObject({ error: expect.stringContaining('moved or deleted') });
      expect(existsSync(dir)).toBe(false);
      renameSync(`${dir}-moved`, dir);
      expect((await bash('cat README.md')).output).toBe('hello\nmore\n');
    });

    test('a restarted backend finds it again, and a capture says what changed in it', async () => {
      const before = await backend.workspaces.capture(RUN);
      await bash('echo changed > README.md');
      expect(await backend.workspaces.capture(RUN, { since: before?.captureId })).toMatchObject({
        isWhole: false,
        changed: expect.arrayContaining([expect.objectContaining({ path: 'README.md', size: 8 })]),
      });
      await backend.stop();
      backend = create();
      await backend.start();
      expect(await backend.workspaces.list()).toEqual([RUN]);
      expect(await backend.workspaces.mountedAt(dir)).toEqual([RUN]);
      slot = await backend.acquire(RUN);
      expect((await bash('cat README.md')).output).toBe('changed\n');
    });

    test.each([
      [
        'discarding',
        async () => {
          await backend.release(slot);
          await backend.workspaces.discard(RUN);
        },
      ],
      ['resetting', () => backend.release(slot, { resetWorkspace: true })],
      ['purging', () => backend.stop({ purge: true })],
      [
        'restoring',
        async () => {
          await backend.release(slot);
          const snapshot = await backend.workspaces.snapshot(RUN);
          await backend.workspaces.restore(RUN, snapshot!);
          slot = await backend.acquire(RUN);
          await bash('rm README.md');
        },
      ],
    ])('%s it leaves the directory alone', async (_, act) => {
      await act();
      expect(await readdir(dir)).toEqual(['README.md']);
      expect(await readFile(join(dir, 'README.md'), 'utf8')).toBe('hello\n');
    });

    test('a backend that may not mount it any more does not find it', async () => {
      await backend.stop();
      backend = create({ mountable: [] });
      await backend.start();
      expect(await backend.workspaces.open(RUN)).toBeUndefined();
      await expect(backend.workspaces.mount(RUN, dir)).rejects.toThrow('may be mounted');
      await backend.workspaces.discard(RUN);
      expect(await readdir(dir)).toEqual(['README.md']);
    });

    test('clients write and delete files in it, also on another file system', async () => {
      const other = await mountOnDisk();
      const writer = await backend.workspaces.openWriter(RUN);
      const content = async function* () {
        yield Buffer.from('from a client');
      };
      await writer?.write('docs/a.txt', content());
      await writer?.write('docs/b.txt', content(), { ifNoneMatch: '*' });
      await expect(writer?.write('docs/b.txt', content(), { ifNoneMatch: '*' })).rejects.toMatchObject({
        code: 'precondition_failed',
      });
      expect((await readdir(join(other, 'docs'))).sort()).toEqual(['a.txt', 'b.txt']);
      expect(await readFile(join(other, 'docs/b.txt'), 'utf8')).toBe('from a client');
      if (owner) expect(await lstat(join(other, 'docs/a.txt'))).toMatchObject(owner);
      await mkdir(join(other, 'docs/deep/deeper'), { recursive: true });
      await writer?.remove('docs', { recursive: true });
      expect(await readdir(other)).toEqual([]);
    });

    test('file tools change it, all or nothing, also on another file system', async () => {
      const other = await mountOnDisk();
      slot = await backend.acquire(RUN);
      const call = async (tool: string, args: object) =>
        (await backend.executeBatch([[slot, tool, { ...args }]]))[0] as ExecutionResult;
      await call('write_file', { path: 'a.txt', content: 'one\n' });
      await bash('chmod 750 a.txt; echo two > b.txt');
      const patch = (...lines: string[]) =>
        call('patch', { patch: ['*** Begin Patch', ...lines, '*** End Patch'].join('\n') });
      const changed = ['*** Update File: a.txt', '-one', '+changed'];
      expect(
        await patch(...changed, '*** Delete File: b.txt', '*** Add File: docs/c.txt', '+three'),
      ).toMatchObject({ success: true });
      expect((await readdir(other, { recursive: true })).sort()).toEqual(['a.txt', 'docs', 'docs/c.txt']);
      expect(await readFile(join(other, 'a.txt'), 'utf8')).toBe('changed\n');
      const { mode, ...stats } = await lstat(join(other, 'a.txt'));
      expect(mode & 0o777).toBe(0o750);
      if (owner) expect(stats).toMatchObject(owner);
      if (owner) expect(await lstat(join(other, 'docs/c.txt'))).toMatchObject(owner);
      expect(await readdir(join(base, 'workspaces/.sandbox/trash'))).toEqual([]);
    });

    test('deleting follows no link that takes the place of the directory meanwhile', async () => {
      const [docs, outside] = [join(dir, 'docs'), join(base, 'outside')];
      const names = Array.from({ length: 40 }, (_, i) => `file-${i}`);
      for (const place of [docs, outside]) {
        await mkdir(place);
        await Promise.all(names.map((name) => writeFile(join(place, name), '')));
      }
      const removed = (await backend.workspaces.openWriter(RUN))!.remove('docs', { recursive: true });
      const isDone = removed.then(
        () => true,
        () => true,
      );
      // False before the first file is deleted, and again when all are.
      const isHalfWay = () => existsSync(docs) && readdirSync(docs).length < names.length;
      const swap = () => {
        if (!isHalfWay()) return false;
        renameSync(docs, join(dir, 'moved'));
        symlinkSync(outside, docs);
        return true;
      };
      while (!(await Promise.race([isDone, setImmediate(false)]))) {
        try {
          if (swap()) break;
        } catch {
          // It was deleted at this moment.
        }
      }
      await isDone;
      expect((await readdir(outside)).length).toBe(names.length);
    });

    test('only added bytes count against the limit of the workspace', async () => {
      const MB = 1024 * 1024;
      const other = await mountOnDisk({ limits: { workspaceBytes: 4 * MB } });
      await writeFile(join(other, 'large'), Buffer.alloc(8 * MB, 1));
      slot = await backend.acquire(RUN);
      expect(await bash('head -c 1M /dev/zero > small')).toMatchObject({ success: true });
      await bash('head -c 16M /dev/zero > more');
      expect(await bash('echo even more > more2')).toMatchObject({ metadata: { failure: 'disk_full' } });
      expect(await bash('rm more; echo fits > more2')).toMatchObject({ success: false });
      expect(await bash('echo fits > more2')).toMatchObject({ success: true });
    });

    test('a directory that leads through a link, or does not exist, is refused at start', async () => {
      await backend.stop();
      await symlink(dir, join(base, 'link'));
      await expect(create({ mountable: [join(base, 'link')] }).start()).rejects.toThrow(
        `name the directory ${dir}`,
      );
      await expect(create({ mountable: [join(base, 'none')] }).start()).rejects.toThrow('does not exist');
    });

    test('a directory with data that commands may not see is refused at start, whatever links lead there', async () => {
      await backend.stop();
      const [data, link] = [join(dir, 'data'), join(base, 'link')];
      await mkdir(data);
      await symlink(data, link);
      const overlaps = `${dir} overlaps`;
      await expect(create({ hiddenPaths: [link] }).start()).rejects.toThrow(overlaps);
      await expect(create({ workspacesDir: join(link, 'workspaces') }).start()).rejects.toThrow(overlaps);
      const inner = create({ hiddenPaths: [dir], mountable: [data] });
      await expect(inner.start()).rejects.toThrow(`${data} overlaps`);
    });

    test.skipIf(!IS_ROOT)('a directory is refused at start if commands cannot run as its owner', async () => {
      await backend.stop();
      await chown(dir, owner ? 0 : 12_345, 0);
      await expect(create().start()).rejects.toThrow('Commands cannot work in');
    });
  });
}
