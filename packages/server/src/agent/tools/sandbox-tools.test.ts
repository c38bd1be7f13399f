import { InvalidArguments } from '@talaria/sandbox/tools';
import { expect, test } from 'vitest';
import { createSandboxTools } from './sandbox-tools.ts';
import { ToolSet } from './tool.ts';

const tools = new ToolSet(createSandboxTools(() => expect.unreachable('no tool is run'), 300));
const prepare = (name: string, args: object) => tools.prepare(name, JSON.stringify(args), () => []);
const id = 'proc_0123456789';

test.each<[string, object]>([
  ['terminal', { command: 'rm -rf /\0' }],
  ['terminal', { command: 'rm -rf build', workdir: '../..' }],
  ['terminal', { command: 'rm -rf build', env: { PATH: '/tmp' } }],
  ['process', { action: 'write', id, data: 'x'.repeat(1024 * 1024 + 1) }],
  ['process', { action: 'write', id, data: 'y', signal: 'KILL' }],
])('%s: nobody is asked about a call that the sandbox refuses, as in %j', (name, args) => {
  expect(() => prepare(name, args)).toThrow(InvalidArguments);
});

test.each<[string, object, string]>([
  ['terminal', { command: 'ls\n  -l' }, 'ls -l'],
  ['process', { action: 'list' }, 'list'],
  ['process', { action: 'kill', id }, `kill ${id}`],
  ['process', { action: 'write', id, data: 'yes\nno', enter: true }, `write ${id} yes no`],
  ['read_file', { path: 'a b' }, 'a b'],
  ['write_file', { path: 'a', content: 'secret' }, 'a'],
  ['patch', { path: 'a', old_string: 'b', new_string: 'c' }, 'a'],
  ['patch', { patch: '*** Begin Patch\n*** Add File: a\n+x\n*** Delete File: b\n*** End Patch' }, 'a, b'],
  ['search_files', { pattern: 'x+', path: 'src', glob: '*.ts' }, 'x+ in src in *.ts'],
])('%s %j is shown as %s', (name, args, preview) => {
  expect(prepare(name, args).preview).toBe(preview);
});

test('a model is told how long a command may take', () => {
  const [terminal] = tools.definitions;
  expect(JSON.stringify(terminal?.parameters)).toContain('at most 300, which is also the default');
});
