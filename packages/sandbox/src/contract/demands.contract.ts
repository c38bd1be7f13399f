/** The contract of what the holder of a slot may ask for a command: a sandbox, a network or none, its errors apart. */
import { describe, expect, test } from 'vitest';
import type { ContractTools } from '../testing/contract-tools.ts';

export function describeDemands({ bash, backend, when, sameEverywhere }: ContractTools): void {
  /** The backends of this suite allow commands no network. Without isolation nobody keeps them from it. */
  const isIsolated = () => backend().stats().isolation.kind !== 'none';

  describe('demands', when('demands'), () => {
    test('a result says whether its command was isolated, and from the network, too', async () => {
      const place = { sandboxed: isIsolated(), network_isolated: isIsolated() };
      expect((await bash('true')).metadata).toMatchObject(place);
      expect((await bash('false')).metadata).toMatchObject({ ...place, exit_code: 1 });
    });

    test('a command may demand a sandbox, and is refused without one', async () => {
      const result = await bash('echo ran', { require_sandbox: true });
      if (isIsolated()) expect(result).toMatchObject({ success: true, output: 'ran\n' });
      else expect(result).toMatchObject({ success: false, output: '', metadata: { sandboxed: false } });
      if (!isIsolated()) expect(result.error).toMatch(/^Sandboxing required/);
      expect(await bash('echo ran', { require_sandbox: false })).toMatchObject({ output: 'ran\n' });
    });

    test('a command may demand to have no network, and is refused where it would have one', async () => {
      const result = await bash('echo ran', { allow_network: false });
      if (isIsolated())
        expect(result).toMatchObject({ output: 'ran\n', metadata: { network_isolated: true } });
      else expect(result).toMatchObject({ success: false, output: '' });
    });

    test('a command that needs a network is refused without one, with the setting', async () => {
      const result = await bash('echo ran', { allow_network: true });
      if (!isIsolated()) {
        expect(result).toMatchObject({ output: 'ran\n', metadata: { network_isolated: false } });
        return;
      }
      expect(result).toMatchObject({ success: false, output: '', metadata: { failure: 'invalid_request' } });
      expect(result.error).toContain('TALARIA_ALLOW_NETWORK');
    });

    test('errors may follow the output', async () => {
      const after = (command: string) => bash(command, { stderr: 'after' });
      const both = await after('for i in 1 2 3; do echo out$i; echo err$i >&2; done; exit 3');
      expect(both).toMatchObject({
        success: false,
        output: 'out1\nout2\nout3\n[stderr]\nerr1\nerr2\nerr3\n',
        metadata: { exit_code: 3, total_bytes: 30 },
      });
      expect((await after('printf out; printf err >&2')).output).toBe('out\n[stderr]\nerr');
      expect((await after('echo err >&2')).output).toBe('err\n');
      expect((await after('echo out')).output).toBe('out\n');
      expect((await after('echo a > /dev/stdout; echo b > /dev/stderr')).output).toBe('a\n[stderr]\nb\n');
      expect((await after('ls /proc/self/fd | wc -l')).output).toBe('4\n');
    });

    test('long errors are cut like a long output, and each is whole in a file', sameEverywhere, async () => {
      const { output, metadata } = await bash('seq 1 50000 >&2; seq 50001 100000', { stderr: 'after' });
      expect(metadata).toMatchObject({ truncated: true });
      const paths = [...output.matchAll(/the whole output is in (\S+) \.\.\.\]/g)].map(([, path]) => path);
      expect(paths).toHaveLength(2);
      const read = await bash(`cat ${paths.join(' ')} | sort -n | cksum; seq 1 100000 | cksum`);
      const [found, expected] = read.output.trim().split('\n');
      expect(found).toBe(expected);
    });

    test('a timeout keeps what was printed to both', async () => {
      const result = await bash('echo out; echo err >&2; sleep 60', { stderr: 'after', timeout: 0.5 });
      expect(result).toMatchObject({ output: 'out\n[stderr]\nerr\n', metadata: { timed_out: true } });
    });

    test.each([{ stateful: true }, { background: true }])('errors apart do not go with %j', async (more) => {
      const result = await bash('echo ran', { stderr: 'after', ...more });
      expect(result).toMatchObject({ success: false, metadata: { failure: 'invalid_request' } });
    });
  });
}
