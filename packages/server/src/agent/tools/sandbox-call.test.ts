import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ExecutionResult, type Slot, ToolExecutor } from '@talaria/sandbox';
import { LocalBackend } from '@talaria/sandbox/local';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createSandboxCall, type SandboxCall } from './sandbox-call.ts';

let workspacesDir: string;
let backend: LocalBackend;
let executor: ToolExecutor;
let bash: (command: string) => ReturnType<SandboxCall>;
const { signal } = new AbortController();

beforeEach(async () => {
  workspacesDir = await mkdtemp(join(tmpdir(), 'talaria-sandbox-call-'));
  backend = new LocalBackend({ workspacesDir });
  await backend.start();
  executor = new ToolExecutor(backend);
  const call = createSandboxCall(executor, 'run_1');
  bash = (command) => call('bash', { command }, signal);
});

afterEach(async () => {
  await executor.stop();
  await backend.stop();
  await rm(workspacesDir, { recursive: true });
});

test('a command that fails is an outcome with its output and exit code', async () => {
  expect(await bash('echo before; exit 3')).toEqual({
    output: 'before\n\nThe command exited with code 3.',
    isError: true,
    exitCode: 3,
  });
});

test('a sandbox that is down is an outcome, and one that is up again serves the next call', async () => {
  await backend.stop();
  expect(await bash('echo up')).toMatchObject({
    output: 'The sandbox is not available: The local backend is not started.',
    isError: true,
  });
  await backend.start();
  expect(await bash('echo up')).toMatchObject({ output: 'up\n', isError: false });
});

test.each(['gone', 'oom'] as const)(
  'files that are lost with their sandbox are recovered, and the outcome says what they are: %s',
  async (failure) => {
    const result: ExecutionResult = {
      ...{ success: false, output: '', error: 'It died.', executionId: 'exec_1', slotId: 'slot_1' },
      metadata: { duration_s: 0, timed_out: false, truncated: false, failure, files_after_loss: 'reverted' },
    };
    const lossy = { execute: async () => result } as Partial<ToolExecutor> as ToolExecutor;
    const restored = { kind: 'restored', pos: 3, omitted: 0, lost: 'sandbox' } as const;
    const recover = async (slotId: string) => (slotId === 'slot_1' ? restored : expect.unreachable());
    const outcome = await createSandboxCall(lossy, 'run_1', { recover })('bash', { command: 'true' }, signal);
    expect(outcome).toMatchObject({ isError: true, workspace: restored });
    expect(outcome.output).toMatch(/^It died\.\nThe sandbox of this run was lost/);
    expect(outcome.output).not.toContain('are kept');
  },
);

test('after the loss of its slot the model is told, and continues in a new one with its files', async () => {
  await bash('echo kept > note');
  const { slotId } = await executor.execute('run_1', 'bash', { command: 'true' });
  await backend.release({ slotId } as Slot);
  const lost = await bash('echo again >> note');
  expect(lost.isError).toBe(true);
  expect(lost.output).toContain('The sandbox of this run was lost');
  expect(lost.output).toContain('The files in the workspace are kept');
  expect(lost.output).toContain('check the state before you repeat it');
  expect(await bash('cat note')).toMatchObject({ output: 'kept\n', isError: false });
});
