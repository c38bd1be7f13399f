/** The contract of the environment in which a command starts. */
import { describe, expect, test } from 'vitest';
import type { ContractTools } from '../testing/contract-tools.ts';

export function describeEnvironment({ bash, when, slot, acquireAgain }: ContractTools): void {
  describe('environment', when('environment'), () => {
    test("nothing of the server's environment reaches a command", async () => {
      process.env.TALARIA_TEST_SECRET = 'f4k3-s3cr3t';
      try {
        const result = await bash('env; cat /proc/self/environ; cat /proc/$PPID/environ 2>/dev/null');
        expect(result.output).toContain('PATH=');
        expect(result.output).not.toContain('f4k3-s3cr3t');
      } finally {
        delete process.env.TALARIA_TEST_SECRET;
      }
    });

    test('a command starts in its workspace, which is its home', async () => {
      expect((await bash('pwd; echo "$HOME"')).output).toBe(
        `${slot().workspaceDir}\n${slot().workspaceDir}\n`,
      );
    });

    test('a command has the usual three descriptors and no other', async () => {
      // The fourth is the one with which ls reads the directory.
      expect((await bash('ls /proc/self/fd')).output).toBe('0\n1\n2\n3\n');
    });

    test('temporary files outlive a command and are deleted by a reset', async () => {
      await bash('echo kept > "$TMPDIR/note"');
      expect((await bash('cat "$TMPDIR/note"')).output).toBe('kept\n');
      await acquireAgain({ resetWorkspace: true });
      expect((await bash('ls -A "$TMPDIR"')).output).toBe('');
    });
  });
}
