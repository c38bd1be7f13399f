/** The part of the contract suite about what changed in a workspace (captures.ts). */
import { createHash, randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { CapturedEntry, CaptureOptions, WorkspaceCapture } from '../captures.ts';
import { type ContractTools, FIFOS_STAY_INSIDE } from '../testing/contract-tools.ts';
import { replay } from '../testing/replay-captures.ts';

const sha256 = (text: string | Buffer) => createHash('sha256').update(text).digest('hex');

export function describeCaptures({
  bash,
  backend,
  trajectory,
  when,
  sameEverywhere,
  race,
  ownKernel,
  acquireAgain,
}: ContractTools): void {
  const run = async (command: string): Promise<string> => {
    const result = await bash(command);
    expect(result, result.output + result.error).toMatchObject({ success: true });
    return result.output;
  };
  const capture = async (options: CaptureOptions = {}): Promise<WorkspaceCapture> =>
    (await backend().workspaces.capture(trajectory(), options))!;
  const paths = (entries: readonly { path: string }[]): string[] => entries.map(({ path }) => path).sort();
  const read = async (...wanted: Pick<CapturedEntry, 'path' | 'path_bytes'>[]) => {
    const found: [string, string][] = [];
    for await (const { path, size, content } of backend().workspaces.readFiles(trajectory(), wanted)) {
      const chunks: Buffer[] = [];
      for await (const chunk of content()) chunks.push(chunk);
      expect(Buffer.concat(chunks)).toHaveLength(size);
      found.push([path, sha256(Buffer.concat(chunks))]);
    }
    return found;
  };

  describe('captures', when('captures'), () => {
    test('the first capture lists files, directories and links, with digests, rights and times', async () => {
      await run(
        `mkdir -p d/empty; printf plain > d/plain; chmod 640 d/plain; touch -d @1500000000.25 d/plain; ln -s d/plain link;` +
          `printf 3 > "$(printf 'bad\\377')"; printf 1 > '日本 🙂'; ln -s "$(printf 'x\\376')" odd; chmod 750 d`,
      );
      const whole = await capture();
      expect(whole).toMatchObject({
        isWhole: true,
        removed: [],
        omitted: [],
        omittedCount: 0,
        entries: 7,
        bytes: 7,
      });
      const entry = (path: string) => whole.changed.find((one) => one.path === path);
      expect(entry('d')).toMatchObject({ type: 'directory', mode: 0o750, size: 0 });
      expect(entry('d/plain')).toMatchObject({
        ...{ type: 'file', mode: 0o640, size: 5, modified_ms: 1_500_000_000_250, sha256: sha256('plain') },
      });
      expect(entry('link')).toMatchObject({ type: 'symlink', size: 7, target: 'd/plain' });
      expect(entry('日本 🙂')).toMatchObject({ sha256: sha256('1') });
      expect(entry('日本 🙂')).not.toHaveProperty('path_bytes');
      const bad = Buffer.from([0x62, 0x61, 0x64, 0xff]);
      expect(entry('bad\uFFFD')).toMatchObject({ path_bytes: bad.toString('base64'), sha256: sha256('3') });
      const target = Buffer.from([0x78, 0xfe]);
      expect(entry('odd')).toMatchObject({ size: 2, target_bytes: target.toString('base64') });
      expect(whole.changed.findIndex(({ path }) => path === 'd')).toBeLessThan(
        whole.changed.findIndex(({ path }) => path === 'd/plain'),
      );
      expect(await read(entry('bad\uFFFD')!, { path: 'gone' }, { path: 'd' }, { path: '日本 🙂' })).toEqual([
        ['bad\uFFFD', sha256('3')],
        ['日本 🙂', sha256('1')],
      ]);
    });

    test('a later capture lists what changed, even if the change is hidden', sameEverywhere, async () => {
      await run('mkdir -p d/e; echo one > d/file; echo two > d/e/other; echo three > top; ln -s a link');
      const changes: [command: string, changed: string[], removed: string[]][] = [
        ['cat d/file; ls -lR', [], []],
        ['touch -r d/file /tmp/then; echo ONE > d/file; touch -r /tmp/then d/file', ['d/file'], []],
        ['chmod 600 d/file', ['d/file'], []],
        ['cp -p d/file /tmp/f && cat /tmp/f > d/file && touch -r /tmp/f d/file', [], []],
        ['mv d/file d/moved', ['d', 'd/moved'], ['d/file']],
        ['ln -sfn b link', ['link'], []],
        ['rm -r d', [], ['d']],
        ['rm top; mkdir top; echo x > top/in', ['top', 'top/in'], []],
        ['rm -r top; echo file > top', ['top'], ['top']],
      ];
      let last = await capture();
      for (const [command, changed, removed] of changes) {
        await run(command);
        const next = await capture({ since: last.captureId });
        expect(next, command).toMatchObject({ isWhole: false });
        // A link that was replaced changes the time of the workspace itself, which is not captured.
        expect([paths(next.changed), paths(next.removed)], command).toEqual([changed, removed]);
        last = next;
      }
    });

    test('changes right after a capture are seen', sameEverywhere, async () => {
      await run('echo 0 > file');
      let last = await capture();
      for (let i = 1; i < 20; i++) {
        await bash(`echo ${i % 10} > file`);
        last = await capture({ since: last.captureId });
        expect(last.changed, `change ${i}`).toMatchObject([{ path: 'file', sha256: sha256(`${i % 10}\n`) }]);
      }
    });

    test('requested contents are those of changed files, up to a size; a backend may give fewer', async () => {
      await run(
        'printf old > same; printf 1 > one; printf 1 > twin; : > nothing; head -c 5000 /dev/zero > large',
      );
      const wanted = { contentBytes: 100 };
      const first = await capture(wanted);
      const given = ({ contents = new Map() }: WorkspaceCapture) =>
        [...contents].map(([digest, bytes]) => [digest, Buffer.from(bytes).toString()]);
      const both = [
        [sha256('1'), '1'],
        [sha256('old'), 'old'],
      ].sort();
      expect([[], both]).toContainEqual(given(first).sort());
      await run('printf 2 > one; touch same; rm twin');
      const next = await capture({ ...wanted, since: first.captureId });
      expect([[], [[sha256('2'), '2']]]).toContainEqual(given(next));
      expect(given(await capture())).toEqual([]);
    });

    test('a capture since one that the backend does not know lists everything', async () => {
      await run('echo one > file');
      const first = await capture();
      expect(await capture({ since: randomUUID() })).toMatchObject({ isWhole: true, entries: 1 });
      await run('echo two > more');
      // The backend may have forgotten the first capture: a caller can use either answer.
      const tree = replay([first, await capture({ since: first.captureId })]);
      expect([...tree.keys()].sort()).toEqual(['file', 'more']);
    });

    test('a capture can be taken after the slot was released, and with the next slot', async () => {
      await run('echo one > file; mkdir d');
      const tree = [await capture()];
      await acquireAgain();
      await run('echo two > d/file');
      tree.push(await capture({ since: tree[0]!.captureId }));
      expect([...replay(tree).keys()].sort()).toEqual(['d', 'd/file', 'file']);
      expect(await read({ path: 'd/file' })).toEqual([['d/file', sha256('two\n')]]);
    });

    test('an omitted entry is named, and counts as removed if it was captured before', async ({ skip }) => {
      skip(ownKernel, FIFOS_STAY_INSIDE);
      await run(
        'mkfifo pipe; echo small > small; mkdir -p a/skip b; echo 1 > a/skip/in; echo 1 > b/x.o; echo 1 > b/x',
      );
      const first = await capture();
      expect(first).toMatchObject({ omittedCount: 1, omitted: [{ path: 'pipe', reason: 'special' }] });
      await run('head -c 5000 /dev/zero > small');
      const limits = { maxFileBytes: 4999, ignore: ['skip/', '*.o'] };
      const next = await capture({ since: first.captureId, limits });
      expect(next.omitted.map(({ path, reason }) => `${path} ${reason}`).sort()).toEqual([
        'a/skip ignored',
        'b/x.o ignored',
        'pipe special',
        'small too_large',
      ]);
      expect([...replay([first, next]).keys()].sort()).toEqual(['a', 'b', 'b/x']);
    });

    test('a capture stops at `maxEntries`, and says so', async () => {
      await run('mkdir d; for i in $(seq 20); do echo $i > d/$i; done');
      const first = await capture();
      const next = await capture({ since: first.captureId, limits: { maxEntries: 10 } });
      expect(next).toMatchObject({ entries: 10, omittedCount: 1, omitted: [{ reason: 'too_many' }] });
      expect(replay([first, next]).size).toBe(10);
    });

    test('is undefined without a workspace, and there are no files', async () => {
      expect(await backend().workspaces.capture(`elsewhere ${randomUUID()}`)).toBeUndefined();
      for await (const _ of backend().workspaces.readFiles(`elsewhere ${randomUUID()}`, [{ path: 'x' }])) {
        expect.unreachable();
      }
    });

    test('an aborted capture rejects, and the next one works', async () => {
      await run('echo one > file');
      const gaveUp = new Error('gave up');
      await expect(capture({ signal: AbortSignal.abort(gaveUp) })).rejects.toThrow('gave up');
      expect(await capture()).toMatchObject({ entries: 1 });
    });

    test('many files and large ones are read whole, and a reader may stop early', async () => {
      await run(
        'for i in $(seq 300); do echo $i > f$i; done; head -c 3000000 /dev/urandom > large; : > nothing',
      );
      const { changed } = await capture();
      const digests = new Map(await read(...changed));
      expect(digests.size).toBe(302);
      for (const { path, sha256: expected } of changed) expect(digests.get(path), path).toBe(expected);
      for await (const file of backend().workspaces.readFiles(trajectory(), changed)) {
        for await (const _ of file.content()) break;
        break;
      }
      expect(await read({ path: 'f7' })).toEqual([['f7', sha256('7\n')]]);
    });

    race('a directory that becomes a link while it is read leads nowhere', async (racing) => {
      if (backend().stats().isolation.kind === 'none') return;
      const outside = mkdtempSync(join(tmpdir(), 'talaria-outside-'));
      writeFileSync(join(outside, 'secret'), 'secret');
      try {
        await run(
          'mkdir -p real/sub; for i in $(seq 50); do echo mine > real/sub/f$i; done; cp -r real/sub turning',
        );
        racing.against(
          `while :; do rm -rf turning; ln -s ${outside} turning; rm turning; cp -r real/sub turning; done`,
        );
        while (racing.lasts()) {
          const { changed } = await capture();
          expect(paths(changed)).not.toContain('turning/secret');
          expect(await read({ path: 'turning/secret' })).toEqual([]);
        }
        await racing.end();
        expect(readdirSync(outside)).toEqual(['secret']);
      } finally {
        rmSync(outside, { recursive: true });
      }
    });
  });
}
