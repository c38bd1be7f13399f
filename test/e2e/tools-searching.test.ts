/** The model searches its workspace; whatever it searches for, the server keeps working. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { processorWaits } from '../support/processor-waits.ts';
import { call, inTurn, play } from './played-run.ts';
import { ServerWithModel, terminal } from './server-with-model.ts';

let world: ServerWithModel;
beforeAll(async () => {
  world = await ServerWithModel.start({ TALARIA_MAX_CONCURRENT_RUNS: '100' });
});
afterAll(() => world[Symbol.asyncDispose]());

const search = (pattern: string, more: Record<string, unknown> = {}) =>
  call('search_files', { pattern, ...more });

test('lines and files are found; the preview is the pattern', async () => {
  const { started, completed, told } = await play(
    world,
    ...inTurn(
      terminal('mkdir src; printf "import os\\nprint(1)\\n" > src/a.py; echo "import os" > b.txt'),
      search('^import \\w+', { path: 'src', glob: '*.py' }),
      search('*.txt', { target: 'files' }),
      search('nothing like it'),
    ),
  );
  expect(started.slice(1).map(({ preview }) => preview)).toEqual([
    '^import \\w+ in src in *.py',
    '*.txt',
    'nothing like it',
  ]);
  expect(told.slice(1).map(({ content }) => content)).toEqual([
    'src/a.py:1:import os\n[1 match in 1 file]',
    'b.txt\n[1 file]',
    '[no matches]',
  ]);
  expect(completed.every(({ error }) => !error)).toBe(true);
});

const TREE = 'a tree of binary files, huge lines, closed directories, loops and';
test(`${TREE} a thousand files`, () => searchTree(1000));
test(`${TREE} ten thousand files`, { tags: ['soak'] }, () => searchTree(10_000));

async function searchTree(files: number): Promise<void> {
  const { completed, told } = await play(
    world,
    ...inTurn(
      terminal(
        [
          `mkdir many shut; for i in $(seq ${files}); do echo "needle $i" > many/$i; done`,
          'printf "needle\\0" > binary; (head -c 5000000 /dev/zero | tr "\\0" y; echo " needle") > huge',
          'echo needle > shut/f; chmod 0 shut; ln -s . loop; ln -s /etc etc; mkfifo pipe',
        ].join('; '),
      ),
      search('needle', { limit: 3 }),
      terminal('chmod 700 shut'),
    ),
  );
  expect(completed[1]).toMatchObject({ error: false });
  const lines = told[1]!.content.split('\n');
  expect(lines[0]).toMatch(/^huge:1:y{400}…$/);
  expect(lines.slice(1, 3)).toEqual(['many/1:1:needle 1', 'many/10:1:needle 10']);
  // Root can read the closed directory, too.
  const found = `(${files + 1}|${files + 2})`;
  expect(lines[3]).toMatch(
    new RegExp(`^\\[matches 1 to 3 of ${found} in ${found} files; continue with offset 3`),
  );
}

test('an expression made to be slow ends in time, and the server answers meanwhile', async () => {
  let over = false;
  const run = play(
    world,
    ...inTurn(
      terminal('for i in $(seq 2000); do echo "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"; done > f'),
      search('(a+)+$'),
      search('^(a|a?)+$'),
    ),
  ).finally(() => {
    over = true;
  });
  while (!over) {
    const startedAt = performance.now();
    const waits = processorWaits();
    expect((await world.api.get('/health')).status).toBe(200);
    expect(performance.now() - startedAt - waits()).toBeLessThan(2_000);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const { completed, told } = await run;
  expect(told[1]!.content).toMatch(/takes too many steps|no matches/);
  for (const { duration } of completed) expect(duration).toBeLessThan(35);
});

describe.concurrent('a wrong search is answered to the model', () => {
  test.each<[string, Record<string, unknown>, RegExp]>([
    ['no pattern', {}, /'pattern' must be/],
    ['an unknown target', { pattern: 'a', target: 'symbols' }, /'target' must be one of content, files/],
    ['an unknown argument', { pattern: 'a', file_glob: '*' }, /'file_glob' is not an argument/],
    ['a limit that is none', { pattern: 'a', limit: 0 }, /'limit' must be a whole number of at least 1/],
    ['a glob twice', { pattern: '*', target: 'files', glob: '*' }, /leave 'glob' out/],
    ['a broken expression', { pattern: 'a(' }, /not a valid regular expression/],
    ['a path outside', { pattern: 'root', path: '/etc' }, /outside the workspace/],
    ['a path that is not there', { pattern: 'a', path: 'nowhere' }, /nowhere does not exist/],
  ])('%s', async (_, args, words) => {
    const { completed, told, output } = await play(world, ...inTurn(call('search_files', args)));
    expect(output).toBe('I see');
    expect(completed).toMatchObject([{ error: true }]);
    expect(told[0]!.content).toMatch(words);
  });
});
