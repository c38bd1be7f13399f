/** The contract of output that is long or not UTF-8. */
import { describe, expect, test } from 'vitest';
import type { ContractTools } from '../testing/contract-tools.ts';

export function describeOutput({ call, bash, when, sameEverywhere }: ContractTools): void {
  describe('output', when('output'), () => {
    test('an output over the limit comes as head, tail and size, with the whole in the workspace', async () => {
      const result = await bash('seq 1 200000');
      const whole = Array.from({ length: 200_000 }, (_, index) => `${index + 1}\n`).join('');
      expect(result.success).toBe(true);
      expect(result.metadata).toMatchObject({ truncated: true, total_bytes: whole.length });
      expect(result.output.startsWith(whole.slice(0, 1000))).toBe(true);
      expect(result.output.endsWith(whole.slice(-1000))).toBe(true);
      expect(result.output.length).toBeLessThan(whole.length / 4);
      const path = result.metadata.full_output_path as string;
      expect(result.output).toContain(path);
      expect((await bash(`cksum < '${path}'`)).output).toBe((await bash('seq 1 200000 | cksum')).output);
      expect(await call('read_file', { path, offset: 150_000, limit: 1 })).toMatchObject({ success: true });
    });

    test('a character is never cut in half', sameEverywhere, async () => {
      for (const padding of ['', 'x', 'xx']) {
        const result = await bash(`printf '${padding}'; yes '日本🙂' | head -n 20000 | tr -d '\\n'`);
        expect(result.metadata.truncated).toBe(true);
        expect(result.output).not.toContain('\ufffd');
      }
    });

    test('bytes that are not UTF-8 are replaced', async () => {
      expect((await bash(`printf 'a\\377b'`)).output).toBe('a\ufffdb');
    });
  });
}
