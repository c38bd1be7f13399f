/** What goes into the archive of a directory, as tar unpacks it. */
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { type TreeEntry, tarGz } from '@talaria/sandbox';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { quoted, Shell } from '../../../../../../test/support/shell.ts';
import { leftOutLines } from '../not-taken.ts';
import { packedEntries } from './packed-entries.ts';
import { type Survey, survey } from './survey.ts';

function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'talaria-pack-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

const bash = new Shell();
afterAll(() => bash.close());

const shell = (directory: string, script: string) => bash.run(directory, script);
const look = (directory: string, withGit = false) => survey(directory, { withGit });
const paths = ({ entries }: Survey) => entries.map(({ path }) => path);

/** Returns where it was unpacked, and how many bytes were reported. */
async function repacked(found: Survey): Promise<{ directory: string; told: number }> {
  const directory = temporaryDirectory();
  let told = 0;
  const count = (bytes: number): void => {
    told += bytes;
  };
  const packed = await buffer(tarGz(packedEntries(found, count)));
  const archive = join(temporaryDirectory(), 'packed.tgz');
  writeFileSync(archive, packed);
  await shell(directory, `tar xzf ${quoted(archive)}`);
  return { directory, told };
}

test('files, modes, times and links arrive as they are', async () => {
  const directory = temporaryDirectory();
  await shell(directory, 'mkdir -p bin; echo run > bin/run; chmod 755 bin/run; touch -d @1500000000 bin/run');
  writeFileSync(join(directory, 'large'), Buffer.alloc(1_000_000, 'x'));
  symlinkSync('bin/run', join(directory, 'link'));
  symlinkSync('nowhere', join(directory, 'bin', 'dangling'));
  const found = await look(directory);
  expect(found).toMatchObject({ bytes: 1_000_004, leftOut: [] });
  const { directory: copy, told } = await repacked(found);
  expect(told).toBe(1_000_004);
  expect(String(await shell(copy, `diff -r --no-dereference ${quoted(directory)} .`))).toBe('');
  const { mode, mtimeMs } = statSync(join(copy, 'bin/run'));
  expect([mode & 0o777, mtimeMs]).toEqual([0o755, 1_500_000_000_000]);
  expect(readlinkSync(join(copy, 'link'))).toBe('bin/run');
});

test('names keep their bytes, whatever they are', async () => {
  const directory = temporaryDirectory();
  await shell(
    directory,
    `touch $'a\\xff\\xfeb' $'new\\nline' -- '-rf' 'ünï'; mkdir $'d\\xff'; touch $'d\\xff/x'`,
  );
  await shell(directory, 'git init -q');
  const { directory: copy } = await repacked(await look(directory));
  rmSync(join(directory, '.git'), { recursive: true });
  const names = (at: string) => readdirSync(at, { encoding: 'buffer', recursive: false }).map(String).sort();
  expect(names(copy)).toEqual(names(directory));
  expect((await shell(copy, 'find . -name x -print0')).toString('latin1')).toBe('./d\xff/x\0');
});

test('what cannot go along is left out and named', async () => {
  const directory = temporaryDirectory();
  await shell(
    directory,
    'mkfifo pipe; ln -s /etc/passwd absolute; mkdir d; ln -s ../../up d/up; ln -s ../ok d/ok',
  );
  writeFileSync(join(directory, 'ok'), '');
  writeFileSync(join(directory, 'esc\x1b[2J'), '');
  const found = await look(directory);
  expect(paths(found)).toEqual(['d/ok', 'esc\x1b[2J', 'ok']);
  expect(leftOutLines(found.leftOut).sort()).toEqual([
    'Left out (a link that leads out of the directory): absolute, d/up',
    'Left out (neither a file nor a link): pipe',
  ]);
});

test.skipIf(process.getuid?.() === 0)(
  'what is unreadable is named, too (skipped: root reads everything)',
  async () => {
    const directory = temporaryDirectory();
    await shell(
      directory,
      'echo x > secret; chmod 0 secret; mkdir closed; touch closed/x; chmod 0 closed; touch open',
    );
    onTestFinished(() => chmodSync(join(directory, 'closed'), 0o700));
    const found = await look(directory);
    const { directory: copy } = await repacked(found);
    expect(readdirSync(copy)).toEqual(['open']);
    expect(found.leftOut.map(({ path }) => path).sort()).toEqual(['closed', 'secret']);
  },
);

test('other repositories inside come with their files and rules, but without .git', async () => {
  const directory = temporaryDirectory();
  const commit = 'git -c user.name=x -c user.email=x commit -qm x';
  await shell(
    directory,
    `git init -q; touch top; git init -q inner; cd inner; printf 'skip\\n' > .gitignore; touch kept skip; git add .; ${commit}; mkdir untracked; touch untracked/x`,
  );
  const expected = ['inner/.gitignore', 'inner/kept', 'inner/untracked/x', 'top'];
  expect(paths(await look(directory))).toEqual(expected);
  await shell(directory, `git add . 2> /dev/null; ${commit}`);
  expect(paths(await look(directory))).toEqual(expected);
});

test('a tracked file whose directory has become a link, or that is gone, does not go along', async () => {
  const directory = temporaryDirectory();
  await shell(
    directory,
    'git init -q; mkdir d other; touch d/x other/x gone; git add .; rm -r d gone; ln -s other d',
  );
  const found = await look(directory);
  expect(paths(found)).toEqual(['d', 'other/x']);
  await repacked(found);
});

test('--with-git brings the repository along, and needs one', async () => {
  const directory = temporaryDirectory();
  await expect(look(directory, true)).rejects.toThrow(/--with-git needs a repository in .*: there is none/);
  await shell(directory, "git init -q; printf 'ignored\\n' > .gitignore; touch ignored kept; git add .");
  const { directory: copy } = await repacked(await look(directory, true));
  expect(String(await shell(copy, 'git status --porcelain'))).toBe('A  .gitignore\nA  kept\n');
  rmSync(join(directory, '.git'), { recursive: true });
  writeFileSync(join(directory, '.git'), 'gitdir: /elsewhere\n');
  await expect(look(directory, true)).rejects.toThrow(/its files are elsewhere/);
});

test('a file that has vanished is left out, one that has grown has its length as of the opening', async () => {
  const directory = temporaryDirectory();
  for (const name of ['a', 'b', 'c']) writeFileSync(join(directory, name), 'first');
  const found = await look(directory);
  rmSync(join(directory, 'a'));
  rmSync(join(directory, 'b'));
  mkdirSync(join(directory, 'b'));
  writeFileSync(join(directory, 'c'), 'first, and more');
  const { directory: copy } = await repacked(found);
  expect(readdirSync(copy)).toEqual(['c']);
  expect(readFileSync(join(copy, 'c'), 'utf8')).toBe('first, and more');
});

test('a file that becomes shorter while it is read ends the packing', async () => {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, 'log'), Buffer.alloc(2_000_000));
  const found = await look(directory);
  const read = async (): Promise<void> => {
    for await (const entry of packedEntries(found, () => {}) as AsyncIterable<TreeEntry>) {
      for await (const _ of entry.content()) truncateSync(join(directory, 'log'), 100);
    }
  };
  await expect(read()).rejects.toThrow('log became shorter while it was packed');
});
