/** Patches, judged by the programs that they are for. */
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { quoted, Shell } from '../../../../test/support/shell.ts';
import {
  type StoredTreeOptions,
  StoredTrees,
  type WrittenEntry,
} from '../checkpoints/testing/stored-trees.ts';
import { patchBetween } from './patch.ts';

const trees = new StoredTrees();
const base = mkdtempSync(join(tmpdir(), 'talaria-patch-'));
const bash = new Shell();
afterAll(async () => {
  await bash.close();
  trees[Symbol.dispose]();
  rmSync(base, { recursive: true, force: true });
});

const has = (program: string) =>
  process.env.PATH!.split(delimiter).some((directory) => existsSync(join(directory, program)));
const APPLY: [string, string[]][] = [
  ['git', ['apply', '--whitespace=nowarn']],
  ['patch', ['-p1', '--no-backup-if-mismatch', '--silent']],
];

async function patchOf(
  before: readonly WrittenEntry[],
  after: readonly WrittenEntry[],
  {
    within = '',
    from = {},
    to = {},
  }: { within?: string; from?: StoredTreeOptions; to?: StoredTreeOptions } = {},
): Promise<Buffer> {
  const checkpoints = { from: await trees.write(before, from), to: await trees.write(after, to) };
  const pieces: Buffer[] = [];
  const options = { owner: 'key', within: within === '' ? [] : within.split('/') };
  for await (const piece of patchBetween(checkpoints, options).text) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** What the program makes of the first tree. */
async function applied(
  program: string,
  args: readonly string[],
  before: readonly WrittenEntry[],
  patch: Buffer,
) {
  const dir = mkdtempSync(join(base, 'tree-'));
  const file = `${dir}.patch`;
  try {
    writeTree(dir, before);
    if (patch.length === 0) return readTree(dir);
    writeFileSync(file, patch);
    const words = [program, ...args].map(quoted).join(' ');
    await bash.run(dir, `GIT_CEILING_DIRECTORIES=${quoted(base)} ${words} < ${quoted(file)} 2>&1`);
    return readTree(dir);
  } finally {
    rmSync(dir, { recursive: true });
    rmSync(file, { force: true });
  }
}

/** Paths in latin1, so that each is what it is on disk. */
function writeTree(dir: string, entries: readonly WrittenEntry[]): void {
  for (const { path, content, target, mode } of entries) {
    const at = Buffer.concat([Buffer.from(`${dir}/`), Buffer.from(path as string)]);
    mkdirSync(at.subarray(0, at.lastIndexOf('/')), { recursive: true });
    if (target !== undefined) symlinkSync(target, at);
    else {
      writeFileSync(at, content!);
      chmodSync(at, mode ?? 0o644);
    }
  }
}

function readTree(dir: string): Record<string, string> {
  const found: Record<string, string> = {};
  const walk = (prefix: Buffer): void => {
    for (const name of readdirSync(Buffer.concat([Buffer.from(`${dir}/`), prefix]), 'buffer')) {
      const path = Buffer.concat([prefix, name]);
      const at = Buffer.concat([Buffer.from(`${dir}/`), path]);
      const stats = lstatSync(at);
      if (stats.isDirectory()) walk(Buffer.concat([path, Buffer.from('/')]));
      else
        found[path.toString('latin1')] = described(
          stats.isSymbolicLink() ? readlinkSync(at) : undefined,
          stats.mode,
          at,
        );
    }
  };
  walk(Buffer.alloc(0));
  return found;
}

function described(target: string | undefined, mode: number, at: Buffer): string {
  if (target !== undefined) return `link ${target}`;
  return `${(mode & 0o100) === 0 ? 'file' : 'program'} ${readFileSync(at, 'latin1')}`;
}

function expected(entries: readonly WrittenEntry[]): Record<string, string> {
  return Object.fromEntries(
    entries.map(({ path, content, target, mode = 0o644 }) => [
      Buffer.from(path as string).toString('latin1'),
      target === undefined
        ? `${(mode & 0o100) === 0 ? 'file' : 'program'} ${Buffer.from(content as string).toString('latin1')}`
        : `link ${target}`,
    ]),
  );
}

const LINES = Array.from({ length: 40 }, (_, i) => `line ${i}`).join('\n');
const FF = Buffer.from([0x66, 0xff]);

const CASES: [string, WrittenEntry[], WrittenEntry[]][] = [
  [
    'a modified file',
    [{ path: 'a', content: `${LINES}\n` }],
    [{ path: 'a', content: `${LINES}\n`.replace('line 7', 'changed') }],
  ],
  ['an added file in a new directory', [], [{ path: 'd/e/a', content: 'x\n' }]],
  ['a deleted program', [{ path: 'a', content: 'x\n', mode: 0o755 }], []],
  ['an empty file that comes', [], [{ path: 'empty', content: '' }]],
  ['a file that is emptied', [{ path: 'a', content: 'x\n' }], [{ path: 'a', content: '' }]],
  ['a file without a newline at its end', [{ path: 'a', content: 'x\ny' }], [{ path: 'a', content: 'x\nz' }]],
  ['a newline that comes', [{ path: 'a', content: 'x\ny' }], [{ path: 'a', content: 'x\ny\n' }]],
  ['a program', [{ path: 'a', content: 'x\n' }], [{ path: 'a', content: 'x\n', mode: 0o755 }]],
  [
    'a program that also changes',
    [{ path: 'a', content: 'x\n', mode: 0o755 }],
    [{ path: 'a', content: 'y\n' }],
  ],
  ['other permissions alone', [{ path: 'a', content: 'x\n' }], [{ path: 'a', content: 'x\n', mode: 0o600 }]],
  ['a link that comes', [], [{ path: 'link', target: 'some/where' }]],
  ['a link that leads elsewhere', [{ path: 'link', target: 'a' }], [{ path: 'link', target: 'b' }]],
  ['a name with spaces', [{ path: 'a b', content: 'x\n' }], [{ path: 'a b', content: 'y\n' }]],
  [
    'a name with quotes and a backslash',
    [{ path: 'say "a\\b"', content: 'x\n' }],
    [{ path: 'say "a\\b"', content: 'y\n' }],
  ],
  ['a name beyond ASCII', [], [{ path: 'ü \x7f', content: 'x\n' }]],
  ['a name that is not UTF-8', [{ path: FF, content: 'x\n' }], [{ path: FF, content: 'y\n' }]],
  ['a name with control characters', [], [{ path: 'a\nb\tc\u0001', content: 'x\n' }]],
  [
    'text that is not UTF-8',
    [{ path: 'a', content: Buffer.from([0xff, 0x0a]) }],
    [{ path: 'a', content: Buffer.from([0xfe, 0x0a]) }],
  ],
  ['a rename', [{ path: 'old', content: 'x\n' }], [{ path: 'd/new', content: 'x\n' }]],
  [
    'a rename that makes it a program',
    [{ path: 'a', content: 'x\n' }],
    [{ path: 'b', content: 'x\n', mode: 0o755 }],
  ],
];
/** A patch of git has no quotes around this name, and `patch` refuses it. */
const SPACED_RENAME: (typeof CASES)[number] = [
  'a rename with spaces',
  [{ path: 'old name', content: 'x\n' }],
  [{ path: 'd/new', content: 'x\n' }],
];
const BINARY = [
  [{ path: 'a b', content: Buffer.from([0]) }],
  [
    { path: 'a b', content: 'x' },
    { path: 'ü', content: Buffer.from([0]) },
  ],
] satisfies WrittenEntry[][];

describe.each(APPLY)('%s', (program, args) => {
  test.skipIf(!has(program)).each([...CASES, SPACED_RENAME])(
    'applies %s, and its reverse',
    async (_, before, after) => {
      const there = await patchOf(before, after);
      expect(await applied(program, args, before, there)).toEqual(expected(after));
      const back = await patchOf(after, before);
      expect(await applied(program, args, after, back)).toEqual(expected(before));
    },
  );
});

describe('what a patch cannot hold is named as a binary file', () => {
  const NAMED = 'diff --git a/a b/a\nBinary files a/a and b/a differ\n';

  test('a file that is too large', async () => {
    const large = [{ path: 'a', content: 'x\n'.repeat(2 ** 20 + 1) }];
    expect((await patchOf(large, [{ path: 'a', content: 'x\n' }])).toString()).toBe(NAMED);
  });

  test('a file that was not kept on one side, which is neither new nor deleted', async () => {
    const file = [{ path: 'a', content: 'x\n' }];
    const omitted = { omitted: [{ path: 'a', reason: 'too_large' as const }] };
    expect((await patchOf(file, [], { to: omitted })).toString()).toBe(NAMED);
    expect((await patchOf([], file, { from: omitted })).toString()).toBe(NAMED);
  });

  test.skipIf(!has('git'))('so git refuses the patch as a whole, unless the file is excluded', async () => {
    const [before, after] = BINARY as [WrittenEntry[], WrittenEntry[]];
    const more = { path: 'z', content: 'new\n' };
    const patch = await patchOf(before, [...after, more]);
    await expect(applied('git', ['apply'], before, patch)).rejects.toThrow(
      /binary patch does not apply to 'a b'/,
    );
    const excluded = ['apply', '--exclude=a b', '--exclude=ü'];
    expect(await applied('git', excluded, before, patch)).toEqual(expected([...before, more]));
  });
});

describe('a patch has bounds, and says what it leaves out', () => {
  test.skipIf(!has('git'))('of files: it ends with how many are missing, and git refuses it', async () => {
    const files = Array.from({ length: 10_002 }, (_, i) => ({
      path: `f${String(i).padStart(5, '0')}`,
      content: '',
    }));
    const checkpoints = { from: await trees.write([]), to: await trees.write(files) };
    const { text, leftOut } = patchBetween(checkpoints, { owner: 'key', within: [] });
    expect(leftOut).toBe(2);
    const pieces: Buffer[] = [];
    for await (const piece of text) pieces.push(piece);
    const patch = Buffer.concat(pieces);
    const end = patch.toString().slice(-400);
    expect(end).toContain(
      '\n2 more changed files are not in this patch. Ask for a directory.\ndiff --git a/f10000 b/f10000\n',
    );
    expect(end).not.toContain('f10001');
    await expect(applied('git', ['apply'], [], patch)).rejects.toThrow(/binary patch/);
    expect(
      patchBetween({ ...checkpoints, from: await trees.write(files.slice(2)) }, { owner: 'key', within: [] })
        .leftOut,
    ).toBe(0);
  });

  // list-changes.test.ts shows the same bound.
  test('of bytes: the files beyond them are named as binary files', { tags: ['soak'] }, async () => {
    const stored = await trees.write([{ path: 'x', content: Buffer.alloc(2 ** 21) }]);
    // All of them have the same bytes.
    const files = Array.from({ length: 130 }, (_, i) => `f${String(i).padStart(3, '0')}`);
    const tree = new Map(files.map((path) => [path, { ...stored.tree.get('x')!, path }]));
    const sections: string[] = [];
    const checkpoints = { from: await trees.write([]), to: { ...stored, tree } };
    for await (const piece of patchBetween(checkpoints, { owner: 'key', within: [] }).text)
      sections.push(piece.toString());
    // Only what was compared has the ids of its contents.
    expect(sections.map((section) => section.includes('\nindex '))).toEqual(files.map((_, i) => i < 128));
    expect(sections.at(-1)).toContain('Binary files /dev/null and b/f129 differ');
  });
});

test('a patch of one file or directory leaves the others out, also as the source of a rename', async () => {
  const before = [
    { path: 'd/a', content: '1\n' },
    { path: 'da', content: '1\n' },
    { path: 'e', content: 'moves\n' },
  ];
  const after = [
    { path: 'd/a', content: '2\n' },
    { path: 'd/e', content: 'moves\n' },
    { path: 'da', content: '2\n' },
  ];
  const touched = async (within: string) =>
    (await patchOf(before, after, { within })).toString().match(/^(diff|new|rename|deleted) .*$/gm);
  expect(await touched('d')).toEqual([
    'diff --git a/d/a b/d/a',
    'diff --git a/d/e b/d/e',
    'new file mode 100644',
  ]);
  expect(await touched('da')).toEqual(['diff --git a/da b/da']);
  await expect(touched('nowhere')).rejects.toMatchObject({ code: 'artifact_not_found' });
});

const name = fc.oneof(
  fc.constantFrom('a', 'b', 'c', 'a b', 'ü', '"', '\\', '-', 'new\nline', 'tab\t'),
  fc.constant(FF),
);
const path = fc
  .array(name, { minLength: 1, maxLength: 3 })
  .map((names) =>
    Buffer.concat(names.flatMap((one, i) => [Buffer.from(i > 0 ? '/' : ''), Buffer.from(one as string)])),
  );
const line = fc.constantFrom(
  '',
  'a',
  'b',
  'a',
  '-x',
  '+x',
  ' x',
  '@@ -1 +1 @@',
  '\\',
  'é',
  '\r',
  'long '.repeat(20),
);
const content = fc
  .tuple(fc.array(line, { maxLength: 25 }), fc.boolean())
  .map(([lines, ends]) => lines.join('\n') + (ends ? '\n' : ''));
const entry: fc.Arbitrary<WrittenEntry> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ path, content, mode: fc.constantFrom(0o644, 0o755) }) },
  { weight: 1, arbitrary: fc.record({ path, target: fc.constantFrom('no/where', '/nowhere', 'é') }) },
);

/** The first of the entries that can be in one tree. */
const tree = fc.array(entry, { maxLength: 12 }).map((entries) => {
  const files = new Map<string, WrittenEntry>();
  const directories = new Set<string>();
  for (const one of entries) {
    const key = (one.path as Buffer).toString('latin1');
    const above = key
      .split('/')
      .map((_, i, parts) => parts.slice(0, i).join('/'))
      .slice(1);
    if (files.has(key) || directories.has(key) || above.some((each) => files.has(each))) continue;
    for (const each of above) directories.add(each);
    files.set(key, one);
  }
  return [...files.values()];
});

const applies = 'applied by git to one tree, the patch makes the other of it';
test.skipIf(!has('git'))(applies, () => applyToTrees(10));
test.skipIf(!has('git'))(`${applies}, more often`, { tags: ['soak'] }, () => applyToTrees(100));

async function applyToTrees(numRuns: number): Promise<void> {
  const [program, args] = APPLY[0]!;
  await fc.assert(
    fc.asyncProperty(tree, tree, async (before, after) => {
      expect(await applied(program, args, before, await patchOf(before, after))).toEqual(expected(after));
    }),
    { numRuns },
  );
}
