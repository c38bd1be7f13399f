/** The model edits files: edits that fit are made, others are explained to it and change nothing. */
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, inTurn, play } from './played-run.ts';
import { ServerWithModel, terminal } from './server-with-model.ts';

let world: ServerWithModel;
beforeAll(async () => {
  world = await ServerWithModel.start({ TALARIA_MAX_CONCURRENT_RUNS: '100' });
});
afterAll(() => world[Symbol.asyncDispose]());

const write = (path: string, content: string) => call('write_file', { path, content });
const read = (runId: string, name: string) => readFileSync(world.workspaceFile(runId, name), 'utf8');
const patch = (...lines: string[]) =>
  call('patch', { patch: ['*** Begin Patch', ...lines, '*** End Patch'].join('\n') });

test('a piece is replaced, and the preview is the path', async () => {
  const { runId, started, completed, told } = await play(
    world,
    ...inTurn(
      write('src/a.py', 'DEBUG = True\nprint(DEBUG)\n'),
      call('patch', { path: 'src/a.py', old_string: 'DEBUG = True', new_string: 'DEBUG = False' }),
    ),
  );
  expect(completed.map(({ error }) => error)).toEqual([false, false]);
  expect(started[1]).toMatchObject({ tool: 'patch', preview: 'src/a.py' });
  expect(told[1]!.content).toBe('Replaced 1 place in src/a.py, in line 1.');
  expect(read(runId, 'src/a.py')).toBe('DEBUG = False\nprint(DEBUG)\n');
});

test('a patch over several files is applied completely; its preview names them', async () => {
  const { runId, started, told } = await play(
    world,
    ...inTurn(
      terminal('printf "1\\n2\\n3\\n" > u; echo x > d; echo m > m'),
      patch(
        '*** Add File: new/a',
        '+hello',
        '*** Update File: u',
        '@@',
        '-2',
        '+two',
        '*** Delete File: d',
        '*** Update File: m',
        '*** Move to: n',
      ),
    ),
  );
  expect(started[1]!.preview).toBe('new/a, u, d, m');
  expect(told[1]!.content).toBe('Added new/a.\nUpdated u.\nDeleted d.\nMoved m to n.');
  expect([read(runId, 'new/a'), read(runId, 'u'), read(runId, 'n')]).toEqual([
    'hello\n',
    '1\ntwo\n3\n',
    'm\n',
  ]);
  expect(readdirSync(world.workspaceFile(runId)).sort()).toEqual(['n', 'new', 'u']);
});

test('a patch whose second file does not fit changes no file', async () => {
  const { runId, completed, told } = await play(
    world,
    ...inTurn(
      terminal('echo one > a; printf "const total = 1;\\n" > b; echo x > c'),
      patch(
        '*** Update File: a',
        '-one',
        '+two',
        '*** Update File: b',
        '-const total = 2;',
        '+const total = 3;',
        '*** Delete File: c',
      ),
    ),
  );
  expect(completed[1]).toMatchObject({ error: true });
  expect(told[1]!.content).toMatch(
    /no file was changed\.\nb: The hunk does not apply[\s\S]*closest lines are:\n {2}1: const total = 1;/,
  );
  expect([read(runId, 'a'), read(runId, 'b'), read(runId, 'c')]).toEqual([
    'one\n',
    'const total = 1;\n',
    'x\n',
  ]);
});

test('edits of one file in one step all happen', async () => {
  const edits = ['one', 'two', 'three'].map((word) =>
    call('patch', { path: 'f', old_string: word, new_string: word.toUpperCase() }),
  );
  const { runId } = await play(
    world,
    { tools: [write('f', 'one\ntwo\nthree\n')] },
    { tools: edits },
    { text: 'done' },
  );
  expect(read(runId, 'f')).toBe('ONE\nTWO\nTHREE\n');
});

describe.concurrent('a wrong edit is answered to the model', () => {
  const example = /Example of a call: \{/;
  test.each<[string, Record<string, unknown>, RegExp]>([
    ['nothing', {}, /give 'patch', or all of path, old_string, new_string/],
    ['half of it', { path: 'f', old_string: 'a' }, /missing: new_string/],
    ['both ways', { path: 'f', patch: '*** Begin Patch' }, /'patch' goes alone, without path/],
    [
      'a slip',
      { path: 'f', old_sting: 'a', new_string: 'b' },
      /'old_sting' is not an argument; there are path, old_string/,
    ],
    [
      'a wrong type',
      { path: 'f', old_string: 'a', new_string: 'b', replace_all: 'x' },
      /'replace_all' must be/,
    ],
  ])('%s', async (_, args, words) => {
    const { completed, told, output } = await play(world, ...inTurn(call('patch', args)));
    expect(output).toBe('I see');
    expect(completed).toMatchObject([{ error: true }]);
    expect(told[0]!.content).toMatch(words);
    expect(told[0]!.content).toMatch(example);
  });

  test.each<[string, Record<string, unknown>, RegExp]>([
    ['not there', { path: 'f', old_string: 'abcdef', new_string: 'b' }, /not found/],
    ['there twice', { path: 'f', old_string: 'a', new_string: 'b' }, /found 2 times, in lines 1, 2/],
    ['no such file', { path: 'g', old_string: 'a', new_string: 'b' }, /g does not exist/],
    ['outside', { path: '/etc/passwd', old_string: 'root', new_string: 'b' }, /outside the workspace/],
    ['climbing out', { path: '../f', old_string: 'a', new_string: 'b' }, /outside the workspace/],
    ['behind a link', { path: 'link/passwd', old_string: 'root', new_string: 'b' }, /symbolic link/],
    ['no patch', { patch: '--- f\n+++ f\n' }, /Begin Patch/],
  ])('%s', async (_, args, words) => {
    const { runId, completed, told } = await play(
      world,
      ...inTurn(terminal('printf "a\\na\\n" > f; ln -s /etc link'), call('patch', args)),
    );
    expect(completed[1]).toMatchObject({ error: true });
    expect(told[1]!.content).toMatch(words);
    expect(read(runId, 'f')).toBe('a\na\n');
  });
});

describe.concurrent('reading', () => {
  test('an empty file, a binary file, a part of a file', async () => {
    const { told, completed } = await play(
      world,
      ...inTurn(
        terminal('touch empty; printf "a\\0b" > binary; seq 1 50 > numbers'),
        call('read_file', { path: 'empty' }),
        call('read_file', { path: 'binary' }),
        call('read_file', { path: 'numbers', offset: 49 }),
        call('read_file', { path: 'numbers', offset: 51 }),
      ),
    );
    expect(told[1]!.content).toBe('[the file is empty]');
    expect(told[2]!.content).toMatch(/binary is a binary file of 3 bytes/);
    expect(told[3]!.content).toBe('49\n50\n[lines 49 to 50 of 50, 141 bytes in all.]');
    expect(told[4]!.content).toMatch(/has 50 lines/);
    expect(completed.map(({ error }) => error)).toEqual([false, false, true, false, true]);
  });

  test('the rest of a long output is where the answer says', async () => {
    const { told } = await play(
      world,
      ...inTurn(
        terminal('seq 1 100000'),
        call('search_files', { pattern: '^54321$', path: '/tmp/talaria-output' }),
      ),
    );
    const said = /Read the rest with read_file (\{.*?\})/.exec(told[0]!.content)?.[1];
    const { path } = JSON.parse(said ?? '{}') as { path: string };
    const [, file] = /^(\S+\.log):54321:54321\n/.exec(told[1]!.content) ?? [];
    expect(file).toBe(path);
  });
});
