import { describe, expect, test } from 'vitest';
import { bash, terminal } from './bash.ts';
import { checkCall } from './sandbox-tools.ts';

const id = 'proc_0123456789';

describe('a call that can never work is refused', () => {
  test.each<[string, unknown, string]>([
    ['terminal', {}, 'Unknown tool terminal; there are bash, bash_stateful, process, read_file'],
    ['constructor', {}, 'Unknown tool constructor'],
    ['bash', { command: 'a\0b' }, "'command' contains a NUL"],
    ['bash', { command: 'ls', timeout: 0 }, "'timeout' must be a number of at least 0.001, not 0"],
    ['bash', { command: 'ls', env: { 'A-B': '1' } }, `'env' has "A-B", which cannot name a variable`],
    ['bash', { command: 'ls', env: { A: '\0' } }, "'env.A' contains a NUL"],
    ['bash', { command: 'ls', workdir: 'a/../../b' }, `'workdir' must be a path in the workspace`],
    ['bash', { command: 'ls', workdir: '/../etc' }, "'workdir' must be"],
    ['process', { action: 'poll' }, "'id' says which process to poll"],
    ['process', { action: 'kill', id, data: 'y' }, 'the action kill takes id, signal; leave data out'],
    ['process', { action: 'list', id }, 'the action list takes nothing else; leave id out'],
    ['process', { action: 'write', id }, "write needs 'data', 'enter' or 'eof'"],
    ['process', { action: 'write', id, data: 'ü'.repeat(600_000) }, "'data' has 1200000 bytes"],
    ['patch', {}, 'missing: path, old_string, new_string'],
    ['patch', { path: 'a', old_string: 'b' }, 'missing: new_string'],
    ['patch', { patch: 'x', path: 'a' }, "'patch' goes alone, without path"],
    ['bash', { command: 'ls', stderr: 'after', stateful: true }, "'stderr' is for commands that are neither"],
    ['bash', { command: 'ls', allow_network: 'no' }, "'allow_network' must be true or false"],
    ['bash_stateful', { command: 'a\0b' }, "'command' contains a NUL"],
    ['tmux', { action: 'send_keys' }, "'keys' says what to type"],
    [
      'tmux',
      { action: 'send_keys', keys: [1] },
      "'keys' must be a string or an array of at most 1000 strings",
    ],
    ['tmux', { action: 'fly' }, "'action' must be one of start, send_keys, capture, stream, stop"],
    ['search_files', { pattern: 'a\nb' }, "'pattern' must be one line"],
    ['search_files', { pattern: '*.py', target: 'files', glob: '*' }, "leave 'glob' out"],
  ])('%s %j', (tool, args, words) => {
    expect(() => checkCall(tool, args)).toThrow(words);
  });
});

test.each<[string, object]>([
  ['bash', { command: 'ls', timeout: 0.05, workdir: '/workspace/src', env: { A_1: '' }, background: true }],
  ['process', { action: 'write', id, eof: true }],
  ['process', { action: 'write', id, data: '', enter: true }],
  ['process', { action: 'list' }],
  ['patch', { path: 'a', old_string: 'b', new_string: '', replace_all: true }],
  ['search_files', { pattern: '*.py', target: 'files', limit: 5000 }],
  ['read_file', { path: ' ' }],
  ['tmux', { action: 'send_keys', keys: 'ls', block: true, max_wait_s: 0.5 }],
  ['tmux', { action: 'send_keys', keys: ['ls', 'Enter'], pane_width: 80 }],
])('%s %j is right', (tool, args) => {
  expect(checkCall(tool, args)).toEqual({ tool, args });
});

test('a model gets no way to set variables, which could make any command run another, nor a network', () => {
  const { env, stderr, allow_network, require_sandbox, ...others } = bash.schema.properties;
  expect(terminal.schema.properties).toEqual(others);
  expect(() => terminal.check({ command: 'ls', env: { PATH: '/tmp' } })).toThrow("'env' is not an argument");
});
