/** The contract of arguments: which calls are refused, and what `workdir` and `env` do. */
import { describe, expect, test } from 'vitest';
import type { ContractTools } from '../testing/contract-tools.ts';

export function describeArguments({ call, bash, when, slot }: ContractTools): void {
  describe('arguments', when('arguments'), () => {
    const invalid: [tool: string, args: Record<string, unknown>, named: string][] = [
      ['no_such_tool', {}, 'no_such_tool'],
      ['bash', {}, 'command'],
      ['bash', null as unknown as Record<string, unknown>, 'object'],
      ['bash', ['ls'] as unknown as Record<string, unknown>, 'object'],
      ['bash', { command: ['ls'] }, 'command'],
      ['bash', { command: '  ' }, 'command'],
      ['bash', { command: 'a\0b' }, 'NUL'],
      ['bash', { command: 'ls', timeout: 'soon' }, 'timeout'],
      ['bash', { command: 'ls', timeout: -1 }, 'timeout'],
      ['bash', { command: 'ls', timeout: Number.NaN }, 'timeout'],
      ['bash', { command: 'ls', env: 'A=1' }, 'env'],
      ['bash', { command: 'ls', env: { 'A-B': '1' } }, 'A-B'],
      ['bash', { command: 'ls', env: { A: 1 } }, 'env.A'],
      ['bash', { command: 'ls', workdir: '../x' }, '../x'],
      ['bash', { command: 'ls', comand: 'ls' }, 'comand'],
      // The operator decides what a command may reach.
      ['bash', { command: 'ls', allow_network: true }, 'allow_network'],
      ['bash', { command: 'ls', network: 'host' }, 'network'],
      ['bash', { command: 'ls', isolation: 'none' }, 'isolation'],
      ['read_file', { path: 'x', allow_network: true }, 'allow_network'],
      ['write_file', { path: 'x', content: 'y', network: 'host' }, 'network'],
      ['read_file', {}, 'path'],
      ['read_file', { path: 'x', offset: 0 }, 'offset'],
      ['read_file', { path: 'x', limit: 1.5 }, 'limit'],
      ['write_file', { path: 'x' }, 'content'],
      ['write_file', { content: 'x' }, 'path'],
      ['write_file', { path: 'x', content: 5 }, 'content'],
    ];
    test('a call with invalid arguments is refused, and the error names them', async () => {
      for (const [tool, args, named] of invalid) {
        const result = await call(tool, args);
        const what = `${tool} with ${JSON.stringify(args)}`;
        expect(result, what).toMatchObject({ success: false, metadata: { failure: 'invalid_request' } });
        expect(result.error, what).toContain(named);
      }
    });

    test('workdir and env apply to the command, and to no other', async () => {
      await bash('mkdir -p deep/er');
      const env = { GREETING: `it's\n"me" $HOME` };
      const result = await bash('pwd; echo "$GREETING"', { workdir: 'deep/er', env });
      expect(result.output).toBe(`${slot().workspaceDir}/deep/er\n${env.GREETING}\n`);
      expect((await bash('pwd; echo "[$GREETING]"')).output).toBe(`${slot().workspaceDir}\n[]\n`);
    });

    test('a workdir that does not exist fails the command and runs nothing', async () => {
      const result = await bash('echo ran', { workdir: 'missing' });
      expect(result.success).toBe(false);
      expect(result.output).not.toContain('ran\n');
    });

    test('a command of 200 KB runs', async () => {
      const long = 'x'.repeat(200_000);
      const result = await bash(`v='${long}'; echo \${#v}`);
      expect(result).toMatchObject({ success: true, output: '200000\n' });
    });
  });
}
