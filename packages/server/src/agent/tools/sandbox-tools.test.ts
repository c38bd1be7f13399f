import { InvalidArguments } from '@talaria/sandbox/tools';
import { expect, test } from 'vitest';
import { createSandboxTools } from './sandbox-tools.ts';
import { ToolSet } from './tool.ts';

const tools = new ToolSet(createSandboxTools(() => expect.unreachable('no tool is run'), 300));
const prepare = (name: string, args: object) => tools.prepare(name, JSON.stringify(args), () => []);
const id = 'proc_0123456789';

test.each<[string, string, object]>([
  ['terminal', 'a zero byte', { command: 'rm -rf /\0' }],
  ['terminal', 'a directory outside', { command: 'rm -rf build', workdir: '../..' }],
  ['terminal', 'another PATH', { command: 'rm -rf build', env: { PATH: '/tmp' } }],
  ['process', 'too much input', { action: 'write', id, data: 'x'.repeat(1024 * 1024 + 1) }],
  ['process', 'a signal with input', { action: 'write', id, data: 'y', signal: 'KILL' }],
])('%s: nobody is asked about a call that the sandbox refuses: %s', (name, _, args) => {
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

test('two runs offer the same definitions, each with its own longest timeout', () => {
  const definitions = (maxTimeoutS: number) =>
    createSandboxTools(() => expect.unreachable('no tool is run'), maxTimeoutS).map(
      ({ definition }) => definition,
    );
  for (const [i, definition] of definitions(300).entries()) expect(definitions(300)[i]).toBe(definition);
  expect(JSON.stringify(definitions(7))).toContain('at most 7,');
  expect(JSON.stringify(definitions(300))).toContain('at most 300,');
});
