import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Slot, ToolExecutor } from '@talaria/sandbox';
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

test('where files are lost with their sandbox, the model is told so', async () => {
  const call = createSandboxCall(executor, 'run_1', { filesTravel: true });
  const { slotId } = await executor.execute('run_1', 'bash', { command: 'true' });
  await backend.release({ slotId } as Slot);
  const { output } = await call('bash', { command: 'true' }, signal);
  expect(output).toContain('what was changed since then is lost');
  expect(output).not.toContain('are kept');
});

test('when the slot is lost the model is told, and goes on in a new one with its files', async () => {
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
