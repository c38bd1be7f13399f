/** Which files belong to a project: as git says where it can be asked, and the same by rule elsewhere. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { Shell } from '../../../../../../test/support/shell.ts';
import { gitFiles } from './git-files.ts';
import { GitIgnore } from './gitignore.ts';
import { projectFiles } from './project-files.ts';
import { textOf } from './raw-path.ts';
import { type Walked, walkFiles } from './walk-files.ts';

// The user who runs the tests may have rules of their own.
beforeAll(() => {
  vi.stubEnv('HOME', '/nonexistent/home');
  vi.stubEnv('XDG_CONFIG_HOME', '/nonexistent/config');
});
afterAll(() => void vi.unstubAllEnvs());

function project(files: Record<string, string> = {}): string {
  const directory = mkdtempSync(join(tmpdir(), 'talaria-pack-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  write(directory, files);
  return directory;
}

function write(directory: string, files: Record<string, string>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), content);
  }
}

const bash = new Shell();
afterAll(() => bash.close());

const shell = (directory: string, script: string) => bash.run(directory, script);

async function sorted(found: AsyncIterable<Walked>): Promise<string[]> {
  const paths: string[] = [];
  for await (const { path, kind } of found) if (kind === 'entry') paths.push(textOf(path));
  return paths.sort();
}

const walked = async (directory: string) => sorted(walkFiles(directory, await GitIgnore.of(directory)));

test('rules of all levels hold, and the deepest one decides', async () => {
  const files = {
    '.gitignore': '# rules\n*.log\n/build\ncache/\n!keep.log\n',
    'a.log': '',
    'keep.log': '',
    'build/out': '',
    'src/build/in': '',
    'src/cache/x': '',
    'src/.gitignore': '!a.log\n/private\nspace\\ \n',
    'src/a.log': '',
    'src/private': '',
    'src/deep/private': '',
    'src/space ': '',
    'src/deep/a.log': '',
    cache: 'a file',
  };
  const kept = ['.gitignore', 'cache', 'keep.log', 'src/.gitignore', 'src/a.log', 'src/build/in'];
  const expected = [...kept, 'src/deep/a.log', 'src/deep/private'].sort();
  const directory = project(files);
  expect(await sorted(projectFiles(directory))).toEqual(expected);
  await shell(directory, 'git init -q');
  expect(await sorted(projectFiles(directory))).toEqual(expected);
  expect(await walked(directory)).toEqual(expected);
});

test('.git/info/exclude and the rules above a directory hold in it', async () => {
  const directory = project({
    '.gitignore': 'node_modules\n/sub/top\n',
    'sub/node_modules/x': '',
    'sub/top': '',
    'sub/excluded': '',
    'sub/kept': '',
  });
  await shell(directory, 'git init -q');
  writeFileSync(join(directory, '.git/info/exclude'), 'excluded\n');
  expect(await sorted(projectFiles(join(directory, 'sub')))).toEqual(['kept']);
  expect(await walked(join(directory, 'sub'))).toEqual(['kept']);
});

test('a directory that is ignored itself has what is in it', async () => {
  const directory = project({
    '.gitignore': 'build\n*.js\n',
    'build/a.js': '',
    'build/.gitignore': 'b.js',
    'build/b.js': '',
  });
  await shell(directory, 'git init -q');
  expect(await sorted(projectFiles(join(directory, 'build')))).toEqual(['.gitignore', 'a.js']);
});

test('a tracked file belongs to it, whatever the rules say; the repository does not', async () => {
  const directory = project({ '.gitignore': '*.bin\n', 'fixture.bin': '', 'other.bin': '', gone: '' });
  await shell(directory, 'git init -q; git add -f fixture.bin gone');
  expect(await sorted(projectFiles(directory))).toEqual(['.gitignore', 'fixture.bin', 'gone']);
  expect(await walked(directory)).toEqual(['.gitignore', 'gone']);
});

test('a repository that runs a program is asked without it', async () => {
  const directory = project({ a: '' });
  await shell(directory, 'git init -q; git config core.fsmonitor "touch ran"');
  expect(await sorted(projectFiles(directory))).toEqual(['a']);
});

/** Names and patterns of a few letters, so that they meet. */
const NAME = fc.constantFrom('a', 'b', 'ab', 'a.o', 'b.o', 'a b', '[a]', '#a', '!a', 'ü');
const PATH = fc.array(NAME, { minLength: 1, maxLength: 4 }).map((names) => names.join('/'));
const PATTERN = fc
  .tuple(
    fc.constantFrom('', '', '!'),
    fc.constantFrom('', '', '/', '**/', 'a/'),
    fc.constantFrom(
      'a',
      'b',
      '*.o',
      'a*',
      '?',
      '[ab]',
      'a/b',
      'a/**/b',
      '**',
      '*',
      'a b',
      '\\!a',
      '\\#a',
      'ü',
    ),
    fc.constantFrom('', '', '/', '/**', '/*', ' '),
  )
  .map((parts) => parts.join(''));
const RULES = fc.array(PATTERN, { minLength: 1, maxLength: 4 }).map((lines) => lines.join('\n'));

test('the rules leave out what git leaves out', async () => {
  const tree = fc.record({
    paths: fc.uniqueArray(PATH, { minLength: 1, maxLength: 12 }),
    rules: fc.dictionary(fc.constantFrom('', 'a/', 'b/', 'a/b/', '[a]/'), RULES, { minKeys: 1 }),
  });
  await fc.assert(
    fc.asyncProperty(tree, async ({ paths, rules }) => {
      const directory = mkdtempSync(join(tmpdir(), 'talaria-pack-'));
      try {
        for (const path of paths) tryToWrite(directory, path, '');
        for (const [at, text] of Object.entries(rules)) tryToWrite(directory, `${at}.gitignore`, text);
        await shell(directory, 'git init -q');
        const expected = [...(await gitFiles(directory))!].map(textOf).sort();
        expect(await walked(directory)).toEqual(expected);
      } finally {
        rmSync(directory, { recursive: true });
      }
    }),
    { numRuns: 20 },
  );
});

/** A path may go through another one that is a file. */
function tryToWrite(directory: string, path: string, content: string): void {
  try {
    write(directory, { [path]: content });
  } catch {}
}
