/** `talaria apply` on real directories, with a server that answers as PROTOCOL.md says. */
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { Shell } from '../../../../../../test/support/shell.ts';
import { main } from '../../main.ts';
import { RUN_ID, type RunDirectories, serveRunFiles, treeOf } from '../../testing/serve-run-files.ts';
import { TestTerminal } from '../../testing/test-terminal.ts';
import { carryOut } from './carry-out.ts';
import { LocalFiles } from './local-files.ts';
import { writeContent } from './write-content.ts';

let root: string;
let start: string;
let now: string;
let ours: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'talaria-apply-'));
  [start, now, ours] = [join(root, 'start'), join(root, 'now'), join(root, 'ours')];
  for (const directory of [start, now, ours]) mkdirSync(directory);
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
});

/** In all three. */
async function begin(script: string): Promise<void> {
  await shell(start, script);
  for (const copy of [now, ours]) cpSync(start, copy, { recursive: true, verbatimSymlinks: true });
}

const bash = new Shell();
afterAll(() => bash.close());

const shell = (directory: string, script: string) => bash.run(directory, script);

async function apply(argv: string[] = [], run: Partial<RunDirectories> = {}) {
  const { url } = await serveRunFiles({ start, now, shell: bash, ...run });
  const terminal = new TestTerminal({ TALARIA_BASE_URL: url });
  const code = await main(['apply', RUN_ID, '--dir', ours, ...argv], terminal);
  return { code, out: terminal.stdout.written, err: terminal.stderr.written };
}

describe('what the run did', () => {
  test('arrives: changed, added and deleted files, programs, links, and bytes of any kind', async () => {
    await begin(
      'mkdir -p src old/deep; echo a > src/a; echo b > b; echo x > old/deep/x; ln -s b link; echo t > tool',
    );
    await shell(
      now,
      `echo changed > src/a; rm -r old; mkdir -p new/dir; printf 'bin\\0ary' > new/dir/file; ln -sf src/a link
       ln -s ../b new/up; chmod +x tool; printf '#!/bin/sh\\n' > run; chmod +x run; echo x > $'two\\nlines'`,
    );
    const { code, out, err } = await apply();
    expect([code, err]).toEqual([0, '']);
    expect(treeOf(ours)).toEqual(treeOf(now));
    expect(out.split('\n').slice(0, -2).sort()).toEqual([
      'A new/dir/file',
      'A new/up',
      'A run',
      'A two␊lines',
      'D old/deep/x',
      'M link',
      'M src/a',
      'M tool',
    ]);
    expect(out).toMatch(/\nChanged 8 files in .*ours\n$/);
    expect(existsSync(join(ours, 'old'))).toBe(false);
  });

  test('does not touch what the run left alone, and changes nothing the second time', async () => {
    await begin('echo a > a; echo b > b');
    await shell(now, 'echo changed > a');
    await shell(ours, 'echo mine > b; echo new > c');
    await apply();
    const { ino } = lstatSync(join(ours, 'a'));
    const { code, out } = await apply();
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/^Changed 0 files in .*; 1 was as in the run already\n$/),
    ]);
    expect(lstatSync(join(ours, 'a')).ino).toBe(ino);
    expect(readFileSync(join(ours, 'b'), 'utf8')).toBe('mine\n');
    expect(readdirSync(ours).sort()).toEqual(['a', 'b', 'c']);
  });

  test('with --dry-run is only said', async () => {
    await begin('echo a > a');
    await shell(now, 'echo changed > a; echo b > b');
    const before = treeOf(ours);
    const { code, out } = await apply(['--dry-run']);
    expect([code, out]).toEqual([0, expect.stringMatching(/^M a\nA b\nWould change 2 files in /)]);
    expect(treeOf(ours)).toEqual(before);
  });

  test('is JSON for programs', async () => {
    await begin('echo a > a; echo b > b; echo c > c');
    await shell(now, 'echo changed > a; rm b; echo changed > c; mkdir .git; echo x > .git/config');
    await shell(ours, 'echo mine > c');
    const { code, out } = await apply(['--json']);
    const conflicts = [{ path: 'c', reason: 'the run changed it, and it was changed here, too' }];
    const left_out = [{ path: '.git/config', reason: 'in .git, which is never written' }];
    const answer = { run_id: RUN_ID, directory: ours, dry_run: false, unchanged: 0, conflicts, left_out };
    expect([code, JSON.parse(out)]).toEqual([7, { ...answer, applied: [] }]);
    const kept = await apply(['--json', '--keep-mine']);
    const applied = [
      { path: 'a', change: 'modified' },
      { path: 'b', change: 'deleted' },
    ];
    expect([kept.code, JSON.parse(kept.out)]).toEqual([0, { ...answer, applied }]);
  });
});

describe('a conflict', () => {
  test.each([
    ['a change on both sides', 'echo a > a', 'echo theirs > a', 'echo mine > a', 'changed here, too'],
    ['a file that was deleted here', 'echo a > a', 'echo theirs > a', 'rm a', 'it was deleted here'],
    [
      'a file that the run deleted',
      'echo a > a',
      'rm a',
      'echo mine > a',
      'the run deleted it, and it was changed',
    ],
    ['a file that both added', ':', 'echo theirs > a', 'echo mine > a', 'there is another one here'],
    [
      'a link in place of a file',
      'echo a > a',
      'echo theirs > a',
      'ln -sf /etc/hosts a',
      'changed here, too',
    ],
    ['a link to another place', 'ln -s x a', 'ln -sf y a', 'ln -sf z a', 'changed here, too'],
    [
      'a directory with files',
      ':',
      'echo theirs > a',
      'mkdir a; touch a/mine',
      'a directory is in the way here, with a/mine',
    ],
    [
      'a file above it',
      ':',
      'mkdir a; echo theirs > a/b',
      'echo mine > a',
      'a is in the way: it is not a directory',
    ],
    ['a link above it', ':', 'mkdir a; echo theirs > a/b', 'mkdir ../out; ln -s ../out a', 'a is in the way'],
    [
      'a directory in place of a file',
      'echo a > a',
      'echo theirs > a',
      'rm a; mkdir a',
      'it was deleted here',
    ],
    [
      'a directory with files in place of a file',
      'echo a > a',
      'echo theirs > a',
      'rm a; mkdir a; touch a/mine',
      'a directory is in the way here, with a/mine',
    ],
    [
      'a link in place of a file that the run deleted',
      'echo a > a',
      'rm a',
      'ln -sf other a',
      'the run deleted it, and it was changed here',
    ],
    [
      'a link in place of the directory of a file',
      'mkdir a; echo a > a/b',
      'echo theirs > a/b',
      'mv a ../moved; ln -s ../moved a',
      'a is in the way: it is not a directory',
    ],
    ['a FIFO', 'echo a > a', 'echo theirs > a', 'rm a; mkfifo a', 'neither a file nor a link'],
  ])('%s is reported, and nothing is applied', async (_, before, theirs, mine, message) => {
    await begin(`${before}; echo x > other`);
    await shell(root, `cd now; ${theirs}; echo changed > other; cd ../ours; ${mine}`);
    const tree = listing(root);
    const { code, out, err } = await apply();
    expect({ code, out }).toEqual({ code: 7, out: '' });
    expect(err).toContain(message);
    expect(err).toMatch(/^! a/);
    expect(err).toContain('Nothing was applied. --keep-mine takes the rest');
    expect(listing(root)).toBe(tree);

    const kept = await apply(['--keep-mine']);
    expect([kept.code, kept.out]).toEqual([0, expect.stringMatching(/^M other\nChanged 1 file in /)]);
    expect(readFileSync(join(ours, 'other'), 'utf8')).toBe('changed\n');
  });

  test('is none between a change of the mode and a change of the content', async () => {
    await begin('echo a > a; echo b > b; chmod +x b');
    await shell(now, 'echo theirs > a; chmod -x b');
    await shell(ours, 'chmod 755 a; echo mine > b');
    const { code, err } = await apply();
    // The content of b was changed here alone: only its mode comes from the run.
    expect([code, err]).toEqual([0, '']);
    expect(statSync(join(ours, 'a')).mode & 0o777).toBe(0o755);
    expect(statSync(join(ours, 'b')).mode & 0o111).toBe(0);
    expect(readFileSync(join(ours, 'b'), 'utf8')).toBe('mine\n');
  });
});

describe('what stands in the way and goes', () => {
  test('a directory becomes a file, a file a directory, a link a file', async () => {
    await begin('mkdir -p d/e; echo x > d/e/x; echo f > f; ln -s f l; echo g > g');
    await shell(now, 'rm -r d f l g; echo file > d; mkdir -p f/g; echo y > f/g/y; echo plain > l; ln -s d g');
    await shell(ours, 'mkdir d/empty');
    expect(await apply()).toMatchObject({ code: 0, err: '' });
    expect(treeOf(ours)).toEqual(treeOf(now));
    expect(lstatSync(join(ours, 'l')).isFile()).toBe(true);
  });
});

describe('a hostile run', () => {
  test.each(['../out', '/etc/cron.d/x', 'a/../../out', 'a//b', './a', '', 'a\0b'])(
    'that names %j gets nothing applied',
    async (path) => {
      await shell(now, 'echo x > good');
      const data = [
        { path: 'good', status: 'added' as const },
        { path, status: 'added' as const },
      ];
      const { code, err } = await apply([], { data });
      expect([code, err]).toEqual([1, expect.stringContaining('names a path outside of the workspace')]);
      expect(readdirSync(ours)).toEqual([]);
    },
  );

  test('writes into no .git, in any spelling, and under no name that is not its own', async () => {
    const names = [
      '.git/hooks/pre-commit',
      'sub/.GIT/config',
      '.g\u200cit/config',
      'git~1/config',
      '.git. /x',
    ];
    for (const name of [...names, '.gitignore', '.github/x', 'bad\ufffd']) {
      mkdirSync(join(now, dirname(name)), { recursive: true });
      writeFileSync(join(now, name), 'x');
    }
    const { code, err } = await apply();
    expect(code).toBe(0);
    expect(err).toMatch(
      /^Left out \(in \.git, which is never written\): .* and 2 more\nLeft out \(a name that is not UTF-8\): bad/,
    );
    expect([...treeOf(ours).keys()]).toEqual(['.github/x', '.gitignore']);
  });

  test('brings no link that leads out of the directory', async () => {
    await shell(now, 'ln -s /etc/passwd absolute; mkdir d; ln -s ../../out d/up; ln -s ../ok d/in; touch ok');
    const { code, err } = await apply();
    expect([code, err]).toEqual([0, 'Left out (a link that leads out of the directory): absolute, d/up\n']);
    expect([...treeOf(ours).keys()].sort()).toEqual(['d/in', 'ok']);
  });

  test('brings no link that may lead out through another one', async () => {
    // `d/up` could be a link to the directory above.
    await shell(now, 'mkdir d; touch ok; ln -s d/up/../secret out; ln -s ../ok d/in');
    const { code, err } = await apply();
    expect([code, err]).toEqual([0, 'Left out (a link that leads out of the directory): out\n']);
    expect([...treeOf(ours).keys()].sort()).toEqual(['d/in', 'ok']);
  });
});

describe('a lying server', () => {
  const link = { path: 'm', status: 'added', mode: '120000' } as const;
  const below = { path: 'm/x', status: 'added', mode: '100644' } as const;

  /** A link of the user leads out of the directory, and one of the run to that link. */
  async function lie(data: NonNullable<RunDirectories['data']>): Promise<{ code: number; err: string }> {
    await shell(ours, 'mkdir ../out; ln -s ../out away');
    await shell(now, 'echo x > ../out/x; ln -s away m; echo good > good');
    return apply(['--keep-mine'], { data: [{ path: 'good', status: 'added' }, ...data] });
  }

  test.each<[string, NonNullable<RunDirectories['data']>, string]>([
    ['a file below a link', [link, below], 'm/x, which lies below m'],
    ['a file below a file', [{ ...link, path: 'good/y' }], 'good/y, which lies below good'],
    ['a link and a file of one name', [link, { ...below, path: 'm' }], 'a path twice: m'],
    ['a mode of a file below a link', [link, { ...below, status: 'modified' }], 'm/x, which lies below m'],
  ])('that names %s gets nothing applied', async (_, data, message) => {
    const { code, err } = await lie(data);
    expect([code, err]).toEqual([1, expect.stringContaining(message)]);
    expect(readdirSync(ours)).toEqual(['away']);
  });

  test('that sends endless text for a link is cut off', async () => {
    await shell(now, 'ln -s x m');
    const endless = (function* () {
      for (;;) yield Buffer.alloc(65_536, 'x');
    })();
    const { code, err } = await apply([], { patch: () => endless });
    expect([code, err]).toEqual([1, expect.stringContaining('too much about the link m')]);
  });

  test('gets no file written through a link, also not through one that came with it', async () => {
    await shell(now, 'mkdir d; echo x > d/x');
    await shell(root, 'mkdir out');
    const change = {
      path: 'd/x',
      action: 'write',
      entry: { type: 'file', sha256: '', executable: false },
    } as const;
    const staged = (name: string) => join(ours, '.talaria-apply-1', name);
    mkdirSync(dirname(staged('1')));
    writeFileSync(staged('2'), 'x');
    // On a file system that does not mind the case, `D` is `d`.
    const changes = [
      { ...change, path: 'd', entry: { type: 'symlink', target: '../out' } as const, copy: staged('1') },
      { ...change, copy: staged('2') },
    ].map((one) => ({ ...one, seen: undefined, isNew: true }));
    await expect(carryOut(changes, new LocalFiles(ours))).rejects.toThrow(/d is not a directory any more/);
    expect(readdirSync(join(root, 'out'))).toEqual([]);
  });
});

describe('the command', () => {
  test('says when the run works, when the list is cut, and when there is no directory', async () => {
    expect((await apply([], { status: 'running' })).err).toMatch(/^The run has not ended; /);
    expect(await apply([], { truncated: true })).toMatchObject({
      code: 1,
      err: expect.stringContaining('changed more files than the server lists'),
    });
    rmSync(ours, { recursive: true });
    expect(await apply()).toMatchObject({ code: 1, err: expect.stringContaining('ours is not a directory') });
  });

  test('removes what a killed one left, and waits for no other', async () => {
    await shell(now, 'echo x > a');
    const dead = 2 ** 22 + 1;
    mkdirSync(join(ours, `.talaria-apply-${dead}`));
    writeFileSync(join(ours, `.talaria-apply-${dead}`, '1'), 'half');
    expect((await apply()).code).toBe(0);
    expect(readdirSync(ours)).toEqual(['a']);
    mkdirSync(join(ours, '.talaria-apply-1'));
    expect(await apply()).toMatchObject({
      code: 1,
      err: expect.stringContaining('Another talaria apply works in this directory'),
    });
  });

  test('follows a link that the user names, and keeps permissions of files it replaces', async () => {
    await begin('echo a > a; chmod 640 a');
    await shell(now, 'echo changed > a');
    symlinkSync(ours, join(root, 'named'));
    expect((await apply(['--dir', join(root, 'named')])).code).toBe(0);
    expect(readFileSync(join(ours, 'a'), 'utf8')).toBe('changed\n');
    expect(statSync(join(ours, 'a')).mode & 0o777).toBe(0o640);
  });
});

/** Trees of a few paths, which meet as files, links and directories. */
const PATHS = ['a', 'b', 'd', 'd/x', 'd/y', 'd/e/x'];
const ENTRY = fc.constantFrom('1', '2', '3', '*1', '*2', '@a', '@b');
const TREE = fc.dictionary(fc.constantFrom(...PATHS), ENTRY, { maxKeys: 5 });

/** `1` is a file with this content, `*1` a program, `@a` a link. A path below something else is left out. */
function plant(directory: string, tree: Record<string, string>): void {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory);
  for (const [path, what] of Object.entries(tree)) {
    const place = join(directory, path);
    try {
      mkdirSync(dirname(place), { recursive: true });
      if (what.startsWith('@')) symlinkSync(what.slice(1), place);
      else {
        writeFileSync(place, what, { flag: 'wx' });
        chmodSync(place, what.startsWith('*') ? 0o755 : 0o644);
      }
    } catch {}
  }
}

test('whatever the three trees are: all changes or none, no change of the user is lost, and a second apply changes nothing', async () => {
  await fc.assert(
    fc.asyncProperty(TREE, TREE, TREE, fc.boolean(), async (one, two, three, alike) => {
      plant(start, one);
      plant(now, two);
      // Half of the time the user has changed nothing, or little.
      plant(ours, alike ? one : { ...one, ...three });
      const [before, theirs, mine] = [treeOf(start), treeOf(now), treeOf(ours)];
      const listed = listing(ours);
      const { code } = await apply();
      const after = treeOf(ours);
      expect(readdirSync(ours).filter((name) => name.startsWith('.talaria'))).toEqual([]);
      const paths = new Set([before, theirs, mine, after].flatMap((tree) => [...tree.keys()]));
      const isMine = (path: string) =>
        ![before, theirs].map((tree) => contentOf(tree, path)).includes(contentOf(mine, path)) &&
        contentOf(before, path) !== contentOf(theirs, path);
      if ([...paths].some(isMine)) expect(code).toBe(7);
      if (code === 7) {
        expect(listing(ours)).toBe(listed);
        return;
      }
      expect(code).toBe(0);
      for (const path of paths) {
        const isByRun = contentOf(before, path) !== contentOf(theirs, path);
        expect(contentOf(after, path)).toBe(contentOf(isByRun ? theirs : mine, path));
        if (before.get(path) === theirs.get(path)) expect(after.get(path)).toBe(mine.get(path));
        if (before.get(path) === mine.get(path)) expect(after.get(path)).toBe(theirs.get(path));
      }
      expect((await apply()).out).toMatch(/^Changed 0 files/);
    }),
    { numRuns: 15 },
  );
});

/** Without whether it can be executed. */
function contentOf(tree: ReadonlyMap<string, string>, path: string): string | undefined {
  return tree.get(path)?.replace('program', 'file');
}

/** Everything in it, with types, permissions and contents. */
function listing(directory: string): string {
  const paths = readdirSync(directory, { recursive: true }) as string[];
  const lines = paths.sort().map((path) => {
    const place = join(directory, path);
    const stats = lstatSync(place);
    const content = stats.isFile() ? readFileSync(place, 'hex') : '';
    return `${path} ${stats.mode.toString(8)} ${stats.isSymbolicLink() ? readlinkSync(place) : content}`;
  });
  return lines.join('\n');
}

describe('a server that sends more than it says', () => {
  test('content without a size is not written', async () => {
    await shell(now, 'echo new > new');
    const endless = (response: ServerResponse, etag: string) => {
      response.writeHead(200, { etag });
      Readable.from(zeros()).pipe(response);
    };
    const { code, err } = await apply([], { content: endless });
    expect(code).toBe(1);
    expect(err).toContain('The server sent new without its size');
    expect(readdirSync(ours)).toEqual([]);
  });

  test('a file that the disk has no room for is refused before it is written', async () => {
    await shell(now, 'echo new > new');
    const huge = (response: ServerResponse, etag: string) => {
      response.writeHead(200, { etag, 'content-length': 2 ** 52 });
      Readable.from(zeros()).pipe(response);
    };
    const { code, err } = await apply([], { content: huge });
    expect(code).toBe(1);
    expect(err).toContain('more than the disk has room for; nothing was applied');
    expect(readdirSync(ours)).toEqual([]);
  });

  test('nothing is written beyond the announced size', async () => {
    const copy = join(root, 'copy');
    await writeContent(Readable.from(zeros()), copy, 100_000);
    expect(statSync(copy).size).toBeLessThanOrEqual(100_000);
  });

  function* zeros() {
    for (;;) yield Buffer.alloc(64 * 1024);
  }
});
