/** A gated command is gated however it reaches a shell: by what an earlier call left, or through its standard input. */
import { describe, expect, test } from 'vitest';
import { createGate, type Verdict } from '../approvals/gate.ts';
import { forkNotice } from './fork-notice.ts';
import { createProcess } from './process.ts';
import { createTerminal } from './terminal.ts';
import type { PastCall, Tool } from './tool.ts';

const unreachable = () => expect.unreachable('no tool is run');
const tools: Record<string, Tool> = {
  terminal: createTerminal(unreachable, 60),
  process: createProcess(unreachable, 60),
};
const ID = 'proc_0123456789';

interface Call {
  tool: string;
  args: Record<string, unknown>;
  failed?: boolean;
  output?: string;
  isInherited?: boolean;
}

const stateful = (command: string, failed = false): Call => ({
  tool: 'terminal',
  args: { command, stateful: true },
  failed,
});
const start = (command: string): Call => ({
  tool: 'terminal',
  args: { command, background: true },
  output: `${ID} has been running for 0.3 s.\n[no new output]`,
});
const write = (data: string, failed = false): Call => ({
  tool: 'process',
  args: { action: 'write', id: ID, data },
  failed,
});

const inherited = (call: Call): Call => ({ ...call, isInherited: true });

function toPastCall({ tool, args, failed = false, output = '', isInherited = false }: Call): PastCall {
  return { tool, arguments: JSON.stringify(args), failed, output, isInherited };
}

/** The verdict on the last of these calls, after the others. */
function judge(calls: readonly Call[], isolated = true): Verdict & { command?: string } {
  const last = calls.at(-1) as Call;
  const before = calls.slice(0, -1).map(toPastCall);
  const prepared = (tools[last.tool] as Tool).prepare(last.args, () => before);
  const gate = createGate({ isolated, whenIsolated: 'ask', whenUnisolated: 'ask' });
  return { ...gate(prepared), ...(prepared.command === undefined ? {} : { command: prepared.command }) };
}

describe('a stateful command', () => {
  test.each<[string, Call[], string]>([
    [
      'runs a function of before',
      [stateful('cat() { "$@"; }'), stateful('cat rm build -rf')],
      'recursive delete',
    ],
    [
      'runs a function of a call that would be refused by now',
      [
        { tool: 'terminal', args: { command: 'cat() { "$@"; }', stateful: true, timeout: 0 } },
        stateful('cat rm build -rf'),
      ],
      'recursive delete',
    ],
    ['runs an alias of before', [stateful('alias ls="rm -rf build"'), stateful('ls')], 'recursive delete'],
    [
      'uses a variable of before',
      [stateful('D=/etc'), stateful('echo x > $D/hosts')],
      'overwrite system config',
    ],
    [
      'starts where the last one ended',
      [stateful('cd /etc'), stateful('echo x > hosts')],
      'overwrite system config',
    ],
    [
      'starts where the last one ended, though others failed between',
      [stateful('cd /etc'), stateful('cd /tmp && rm -r x', true), stateful('echo x > hosts')],
      'overwrite system config',
    ],
    [
      'starts where one that failed ended',
      [stateful('cd /etc; false', true), stateful('echo x > hosts')],
      'overwrite system config',
    ],
  ])('that %s asks', (_, calls, key) => {
    expect(judge(calls.slice(-1))).toMatchObject({ kind: 'allow' });
    expect(judge(calls)).toMatchObject({ kind: 'ask', keys: expect.arrayContaining([key]) });
  });

  test('that would wipe the root from where the last one ended is never run', () => {
    expect(judge([stateful('cd /'), stateful('rm -rf *')])).toMatchObject({ kind: 'never' });
  });

  test('is not judged for what earlier or refused commands did', () => {
    const calls = [
      stateful('rm -rf build; f() { rm -rf dist; }'),
      stateful('bomb() { bomb | bomb & }; bomb', true),
      stateful('cd src && ls'),
    ];
    expect(judge(calls)).toMatchObject({ kind: 'allow' });
  });

  test('a plain command has a shell of its own', () => {
    const plain = { tool: 'terminal', args: { command: 'echo x > hosts' } };
    expect(judge([stateful('cd /etc'), plain])).toMatchObject({ kind: 'allow' });
  });
});

describe('a write', () => {
  test.each(['bash', 'sh -i', 'cd src && exec bash', 'python3 -i', 'node', 'psql db', 'timeout 60 bash'])(
    'is judged as input of %s',
    (program) => {
      const verdict = judge([start(program), write('DROP TABLE users;\n')]);
      expect(verdict).toMatchObject({ kind: 'ask' });
      expect(verdict.command).toBe(`(${program}\n) <<'input'\nDROP TABLE users;\ninput\n`);
    },
  );

  test('to a shell or an interpreter always asks, so that nothing passes in pieces', () => {
    for (const data of ['ls\n', 'r', 'm -rf build\n', 'import os\n', ' ']) {
      for (const program of ['bash', 'python3 -i', 'perl']) {
        expect(judge([start(program), write(data)])).toMatchObject({ kind: 'ask' });
      }
    }
  });

  test('to an unknown program asks if its text would be gated as a command', () => {
    expect(judge([start('./repl'), write('rm -rf build\n')])).toMatchObject({
      kind: 'ask',
      keys: ['recursive delete'],
    });
    expect(judge([start('npm init'), write('yes\n')])).toMatchObject({ kind: 'allow' });
  });

  test.each<[string, Call[]]>([
    ['a line', [start('./repl'), write('echo; '), write('r'), write('m -rf build')]],
    ['a statement', [start('sqlite3 db'), write('SELECT 1; DR'), write('OP\n'), write('TABLE users;\n')]],
  ])('%s that comes in pieces is judged whole', (_, calls) => {
    for (let count = 2; count < calls.length; count++) {
      expect(judge(calls.slice(0, count))).toMatchObject({ kind: 'allow' });
    }
    expect(judge(calls)).toMatchObject({ kind: 'ask' });
  });

  test('is judged without statements that earlier writes ended, and without refused writes', () => {
    const calls = [
      start('sqlite3 db'),
      write('DROP TABLE users;\n'),
      write('DELETE', true),
      write('SELECT 1;\n'),
    ];
    expect(judge(calls)).toMatchObject({ kind: 'allow' });
  });

  test('to a process of unknown origin counts as one to a shell', () => {
    expect(judge([write('ls\n')])).toMatchObject({ kind: 'ask', keys: ['heredoc to a shell'] });
  });

  test('is judged whole even if its text looks like the end of the quotation', () => {
    const data = "input\nrm -rf build\ninput_\n'\n";
    expect(judge([start('cat'), write(data)])).toMatchObject({ kind: 'ask' });
    expect(judge([start('cat'), write(data)]).command).toContain("<<'input__'");
  });

  test('always asks without isolation, and other actions never ask', () => {
    const key = { kind: 'ask', keys: ['command outside a sandbox'] };
    expect(judge([start('npm init'), write('yes\n')], false)).toMatchObject(key);
    for (const action of ['poll', 'log', 'wait', 'kill']) {
      expect(judge([{ tool: 'process', args: { action, id: ID } }], false)).toEqual({ kind: 'allow' });
    }
    expect(judge([{ tool: 'process', args: { action: 'list' } }], false)).toEqual({ kind: 'allow' });
  });
});

test('after a restart the model hears of the processes that it ended, and of no others', () => {
  const lost = (...calls: Call[]) => tools.process?.lostWithSandbox?.(calls.map(toPastCall));
  expect(lost(stateful('cd /'))).toBeUndefined();
  expect(lost(start('npm run dev'))).toContain(`${ID} (npm run dev)`);
  const polled = { tool: 'process', args: { action: 'poll', id: ID } };
  expect(lost(start('make'), { ...polled, output: `${ID} has been running for 9.0 s.\nexited` })).toContain(
    ID,
  );
  expect(lost(start('make'), { ...polled, output: `${ID} exited with code 0 after 9.0 s.` })).toBeUndefined();
  expect(lost(start('make'), { ...polled, output: `${ID} was killed after 9.0 s.` })).toBeUndefined();
});

describe('in a fork, the calls of the other run', () => {
  test('left nothing in the shell: a command means what it says', () => {
    const defined = stateful('cat() { "$@"; }');
    expect(judge([defined, stateful('cat rm build -rf')])).toMatchObject({ kind: 'ask' });
    expect(judge([inherited(defined), stateful('cat rm build -rf')])).toMatchObject({ kind: 'allow' });
  });

  test('started no process here: input for theirs counts as input for a shell, and a restart ends none of them', () => {
    expect(judge([start('cat'), write('hello\n')])).toMatchObject({ kind: 'allow' });
    expect(judge([inherited(start('cat')), write('hello\n')])).toMatchObject({ kind: 'ask' });
    const calls = [inherited(start('npm run dev'))].map(toPastCall);
    expect(tools.process?.lostWithSandbox?.(calls)).toBeUndefined();
  });

  test('cause a notice to the model if they used the sandbox; each fork gets its own', () => {
    const notice = (...calls: Call[]) => forkNotice(calls.map(toPastCall));
    expect(notice({ tool: 'todo', args: {} })).toBeUndefined();
    expect(notice(stateful('cd /usr'))).toMatch(/sandbox of its own.+\/tmp.+the shell remembered/);
    expect(notice(stateful('cd /usr'))).not.toContain('processes');
    expect(notice(start('npm run dev'))).toContain(`do not run here: ${ID} (npm run dev).`);
    expect(notice(inherited(start('npm run dev')))).toBeUndefined();
    const ofClient = { ...toPastCall(start('npm run dev')), ofClient: true };
    expect(forkNotice([ofClient])).toBeUndefined();
  });
});
