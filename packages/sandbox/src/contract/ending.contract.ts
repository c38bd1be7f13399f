/** The contract of ends: by itself, by a timeout or by an abort, a command leaves nothing that runs. */
import { describe, expect, test } from 'vitest';
import type { ContractTools } from '../testing/contract-tools.ts';

export function describeEnding({ bash, when, slot, backend }: ContractTools): void {
  describe('ending', when('ending'), () => {
    const beatIn = (file: string) => `while :; do echo x >> ${file}; sleep 0.05; done`;

    /** Nothing wrote the files after the result: they are the same after a command that takes a while. */
    async function expectNoBeat(...files: string[]): Promise<void> {
      const look = `wc -c ${files.join(' ')}`;
      const result = await bash(`a=$(${look}) && sleep 0.3 && [ "$a" = "$(${look})" ]`);
      expect(result).toMatchObject({ success: true, error: '' });
    }

    /** Ways in which something outlives the shell that started it. Each beats in a file of its name. */
    const ways = {
      'in-the-background': (beat: string) => `(${beat}) &`,
      'with-setsid': (beat: string) => `setsid bash -c '${beat}' &`,
      'with-setsid-and-nohup-its-outputs-closed': (beat: string) =>
        `setsid nohup bash -c '${beat}' >/dev/null 2>&1 < /dev/null &`,
      'after-a-double-fork': (beat: string) => `( ( trap "" HUP TERM INT; ${beat} ) & ) &`,
    };
    const files = Object.keys(ways);
    const startAll = [
      ...Object.entries(ways).map(([file, start]) => start(beatIn(file))),
      ...files.map((file) => `until [ -s ${file} ]; do sleep 0.05; done;`),
      'echo ready',
    ].join(' ');

    test('a command that times out leaves nothing that runs, however it was started', async () => {
      const command = `${startAll}; sleep 60`;
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
      await expectNoBeat(...files);
    });

    test('a command that ends leaves nothing that runs, however it was started', async () => {
      expect(await bash(startAll)).toMatchObject({ success: true, output: 'ready\n' });
      await expectNoBeat(...files);
    });

    test('an aborted batch ends what runs, and says so', async () => {
      const controller = new AbortController();
      const running = backend().executeBatch(
        [
          [slot(), 'bash', { command: `setsid bash -c '${beatIn('beat')}' & sleep 60` }],
          [slot(), 'bash', { command: 'until [ -s beat ]; do sleep 0.05; done; echo beating' }],
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
      await expectNoBeat('beat');
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
