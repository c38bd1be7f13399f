/** Wrong tool calls are explained to the model; right ones happen and are shown. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ScriptedTool, Step } from '../support/model-server.ts';
import { play as playIn } from './played-run.ts';
import { ServerWithModel, terminal } from './server-with-model.ts';

let world: ServerWithModel;
beforeAll(async () => {
  world = await ServerWithModel.start({ TALARIA_MAX_CONCURRENT_RUNS: '100' });
});
afterAll(() => world[Symbol.asyncDispose]());

const play = (...steps: Step[]) => playIn(world, ...steps);
const use = (...tools: ScriptedTool[]): Step[] => [{ tools }, { text: 'I see' }];

describe.concurrent('a call that cannot be made is answered to the model, and the run continues', () => {
  const cases: [string, ScriptedTool, RegExp][] = [
    ['an unknown tool', { name: 'teleport', arguments: {} }, /no tool 'teleport'.*terminal/],
    ['arguments that are no JSON', { name: 'terminal', arguments: '{"command": "ec' }, /not valid JSON/],
    ['arguments that are no object', { name: 'terminal', arguments: '["echo"]' }, /must be a JSON object/],
    ['a missing argument', { name: 'terminal', arguments: {} }, /'command' must be/],
    ['an argument of the wrong type', { name: 'terminal', arguments: { command: 7 } }, /'command' must be/],
    ['an empty path', { name: 'read_file', arguments: { path: '' } }, /'path' must be/],
    ['content that is no text', { name: 'write_file', arguments: { path: 'a', content: 1 } }, /'content'/],
    ['a timeout that is none', terminal('true', { timeout: -1 }), /'timeout' must be/],
    [
      'an unknown argument',
      terminal('true', { cwd: 'x' }),
      /'cwd' is not an argument; there are command, timeout, workdir/,
    ],
    ['a path outside the workspace', { name: 'read_file', arguments: { path: '../../etc/passwd' } }, /./],
    ['a file that is not there', { name: 'read_file', arguments: { path: 'nowhere' } }, /nowhere/],
  ];
  for (const [what, call, words] of cases) {
    test(what, async () => {
      const { output, started, completed, told } = await play(...use(call));
      expect(output).toBe('I see');
      expect(started).toMatchObject([{ tool: call.name }]);
      expect(completed).toMatchObject([{ tool: call.name, error: true }]);
      expect(completed[0]!.preview).toMatch(words);
      expect(told[0]!.content).toMatch(words);
    });
  }
});

describe.concurrent('files', () => {
  test('a written file is read back, by the next call and by a command', async () => {
    const content = 'first line\n  “second” — ünï\n\nlast without newline';
    const { runId, completed, told } = await play(
      { tools: [{ name: 'write_file', arguments: { path: 'deep/er/file.txt', content } }] },
      {
        tools: [
          { name: 'read_file', arguments: { path: 'deep/er/file.txt' } },
          terminal('wc -c < deep/er/file.txt'),
        ],
      },
      { text: 'done' },
    );
    expect(completed.map(({ error }) => error)).toEqual([false, false, false]);
    expect(readFileSync(world.workspaceFile(runId, 'deep/er/file.txt'), 'utf8')).toBe(content);
    for (const line of content.split('\n')) expect(told[1]!.content).toContain(line);
    expect(Number(told[2]!.content)).toBe(Buffer.byteLength(content));
  });

  test('two runs have two workspaces', async () => {
    const write = (content: string) =>
      play({ tools: [{ name: 'write_file', arguments: { path: 'same', content } }] }, { text: 'done' });
    const [a, b] = await Promise.all([write('a'), write('b')]);
    expect(readFileSync(world.workspaceFile(a.runId, 'same'), 'utf8')).toBe('a');
    expect(readFileSync(world.workspaceFile(b.runId, 'same'), 'utf8')).toBe('b');
  });
});

describe.concurrent('commands', () => {
  test('only the allowed number of calls of one step runs, and the model is told which', async () => {
    const calls = Array.from({ length: 70 }, (_, n) => terminal(`echo ${n} >> ran`));
    const { runId, output, started, completed, told } = await play(...use(...calls));
    expect(output).toBe('I see');
    expect(started).toHaveLength(70);
    expect(completed.filter(({ error }) => error)).toHaveLength(6);
    for (const { content } of told.slice(64)) expect(content).toMatch(/at most 64 tool calls/);
    const ran = readFileSync(world.workspaceFile(runId, 'ran'), 'utf8').trim().split('\n').map(Number);
    expect(ran.sort((a, b) => a - b)).toEqual(Array.from({ length: 64 }, (_, n) => n));
  });

  test('a failed command is marked, with its exit code, and the model sees both outputs', async () => {
    const { completed, told } = await play(...use(terminal('echo out; echo err >&2; exit 7')));
    expect(completed).toMatchObject([{ error: true, exit_code: 7 }]);
    expect(told[0]!.content).toMatch(/out[\s\S]*err[\s\S]*7/);
  });

  test('a successful command has exit code 0 and a duration', async () => {
    const { completed } = await play(...use(terminal('sleep 0.2; echo fine')));
    expect(completed).toMatchObject([{ error: false, exit_code: 0, preview: 'fine\n' }]);
    expect(completed[0]!.duration).toBeGreaterThanOrEqual(0.2);
  });

  test('a timeout of its own ends it', async () => {
    const { completed } = await play(...use(terminal('sleep 3600', { timeout: 0.3 })));
    expect(completed).toMatchObject([{ error: true, preview: expect.stringContaining('0.3 s') }]);
  });

  test('workdir is where it runs', async () => {
    const { told } = await play(...use(terminal('mkdir -p sub && cd sub && pwd')));
    const { told: there } = await play(
      { tools: [terminal('mkdir -p sub')] },
      { tools: [terminal('pwd', { workdir: 'sub' })] },
      { text: 'done' },
    );
    expect(there[1]!.content.split('/').at(-1)).toBe(told[0]!.content.split('/').at(-1));
  });

  test('calls of one step run side by side, and their results come in the order of the calls', async () => {
    // Each waits for the other: one after the other they would never end.
    const { told, completed } = await play(
      ...use(
        terminal('touch a; while [ ! -e b ]; do sleep 0.02; done; sleep 0.2; echo first'),
        terminal('touch b; while [ ! -e a ]; do sleep 0.02; done; echo second'),
      ),
    );
    expect(completed).toHaveLength(2);
    expect(told.map(({ content }) => content.trim())).toEqual(['first', 'second']);
  });
});

describe.concurrent('shown text is bounded; what is executed and what the model gets is not', () => {
  test('a long output: a preview of 500 characters for people, far more for the model', async () => {
    const { completed, told } = await play(...use(terminal('seq 1 5000')));
    expect(completed[0]!.preview.length).toBeLessThanOrEqual(500);
    expect(completed[0]!.preview.startsWith('1\n2\n3\n')).toBe(true);
    expect(told[0]!.content).toContain('\n5000');
  });

  test('an output beyond the limit: head, tail, size and the way to the rest', async () => {
    const { told } = await play(...use(terminal('seq 1 200000')));
    expect(told[0]!.content.length).toBeLessThan(100_000);
    expect(told[0]!.content).toMatch(
      /^1\n2\n[\s\S]* bytes left out; the whole output is in \S+[\s\S]*\n200000\n?/,
    );
  });

  test('long arguments: shown in part, executed completely', async () => {
    const content = 'z'.repeat(200_000);
    const { runId, started, completed } = await play(
      ...use({ name: 'write_file', arguments: { path: 'long', content } }),
    );
    expect(completed).toMatchObject([{ error: false }]);
    expect(readFileSync(world.workspaceFile(runId, 'long'), 'utf8')).toBe(content);
    expect(JSON.stringify(started[0]!.arguments).length).toBeLessThan(10_000);
    expect(started[0]!.preview).toBe('long');
  });

  test('a long command: one bounded line of preview', async () => {
    const { started, completed } = await play(...use(terminal(`echo ${'word '.repeat(500)}\n\necho end`)));
    expect(started[0]!.preview.length).toBeLessThanOrEqual(200);
    expect(started[0]!.preview).not.toContain('\n');
    expect(completed).toMatchObject([{ error: false }]);
  });
});

test('a repeated call id, in a later step or in the same one, still names one call', async () => {
  const again = (command: string) => ({ ...terminal(command), id: 'call_0' });
  const { started, completed, told } = await play(
    { tools: [again('echo one')] },
    { tools: [again('echo two'), again('echo three')] },
    { text: 'done' },
  );
  const ids = started.map(({ tool_call_id }) => tool_call_id);
  expect(new Set(ids).size).toBe(3);
  expect(completed.map(({ tool_call_id }) => tool_call_id).sort()).toEqual([...ids].sort());
  const said = new Map(told.map(({ tool_call_id, content }) => [tool_call_id, content.trim()]));
  expect(ids.map((id) => said.get(id))).toEqual(['one', 'two', 'three']);
});
