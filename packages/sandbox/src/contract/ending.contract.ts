/** The contract of ends: by itself, by a timeout or by an abort, a command leaves nothing that runs. */
import { describe, expect, test } from 'vitest';
import type { ContractTools } from '../testing/contract-tools.ts';

export function describeEnding({ bash, when, slot, backend }: ContractTools): void {
  describe('ending', when('ending'), () => {
    const beat = 'while :; do date +%s%N >> beat; sleep 0.02; done';

    /** Nothing wrote the file after the result: it is the same after a command that takes a while. */
    async function expectNoBeat(): Promise<void> {
      const { output: before } = await bash('cat beat');
      const { output: after } = await bash('sleep 0.3; cat beat');
      expect(before).not.toBe('');
      expect(after).toBe(before);
    }

    const background: [string, string][] = [
      ['in the background', `(${beat}) &`],
      ['with setsid', `setsid bash -c '${beat}' &`],
      [
        'with setsid and nohup, its outputs closed',
        `setsid nohup bash -c '${beat}' >/dev/null 2>&1 < /dev/null &`,
      ],
      ['after a double fork', `( ( trap "" HUP TERM INT; ${beat} ) & ) &`],
    ];

    test.each(background)('a command that times out leaves nothing that runs %s', async (_, start) => {
      const command = `${start} until [ -s beat ]; do sleep 0.01; done; echo ready; sleep 60`;
      let timeout = 1;
      let result = await bash(command, { timeout });
      // A busy machine may need longer to start it.
      while (result.output === '' && timeout < 16) {
        timeout *= 4;
        result = await bash(command, { timeout });
      }
      expect(result).toMatchObject({ success: false, output: 'ready\n' });
      expect(result.metadata).toMatchObject({ failure: 'timeout', timed_out: true });
      expect(result.error).toContain(`${timeout} s`);
      await expectNoBeat();
    });

    test.each(background)('a command that ends leaves nothing that runs %s', async (_, start) => {
      const result = await bash(`${start} until [ -s beat ]; do sleep 0.01; done; echo ready`);
      expect(result).toMatchObject({ success: true, output: 'ready\n' });
      await expectNoBeat();
    });

    test('an aborted batch ends what runs, and says so', async () => {
      const controller = new AbortController();
      const running = backend().executeBatch(
        [
          [slot(), 'bash', { command: `setsid bash -c '${beat}' & sleep 60` }],
          [slot(), 'bash', { command: 'until [ -s beat ]; do sleep 0.01; done; echo beating' }],
        ],
        { signal: controller.signal },
      );
      await expect.poll(async () => (await bash('cat beat 2>/dev/null')).output).not.toBe('');
      controller.abort();
      const results = await running;
      expect(results[0]).toMatchObject({
        success: false,
        metadata: { failure: 'aborted', timed_out: false },
      });
      expect(results[1]?.success === true || results[1]?.metadata.failure === 'aborted').toBe(true);
      await expectNoBeat();
    });

    test('a batch whose signal is aborted already runs nothing', async () => {
      const result = await bash('echo ran > trace', {}, { signal: AbortSignal.abort() });
      expect(result).toMatchObject({ success: false, metadata: { failure: 'aborted' } });
      expect((await bash('ls')).output).toBe('');
    });

    test('the timeout of the batch is the limit of its commands', async () => {
      const result = await bash('sleep 60', { timeout: 50 }, { timeoutS: 0.3 });
      expect(result.metadata).toMatchObject({ failure: 'timeout', timed_out: true });
    });

    test('the next command works at once after a timeout', async () => {
      await bash('sleep 60', { timeout: 0.2 });
      expect(await bash('echo alive')).toMatchObject({ success: true, output: 'alive\n' });
    });
  });
}
