/** Slots and workspaces when a container dies, on containers that are processes. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import type { ExecutionResult, Slot } from '../backend.ts';
import { ContainerBackend } from './container-backend.ts';
import type { ContainerRequest } from './container-driver.ts';
import type { ContainerBackendOptions } from './container-options.ts';
import { LABELS } from './host-directory.ts';
import { MAX_FRAME_BYTES } from './server/protocol.ts';
import { ProcessDriver, type ProcessDriverOptions } from './testing/process-driver.ts';

interface Fixture extends AsyncDisposable {
  base: string;
  driver: ProcessDriver;
  backend: ContainerBackend;
  bash(slot: Slot, command: string): Promise<ExecutionResult>;
}

async function start(
  driverOptions: Omit<ProcessDriverOptions, 'dir'>,
  options: Partial<ContainerBackendOptions> = {},
): Promise<Fixture> {
  const base = await mkdtemp(join(tmpdir(), 'talaria-container-test-'));
  const driver = new ProcessDriver({ dir: join(base, 'driver'), ...driverOptions });
  // Only the containers that a test asks for: each is a process, and every acquire would also start a warm one.
  const own = { workspacesDir: join(base, 'workspaces'), warmSlots: 0, ...options };
  const backend = new ContainerBackend(driver, own);
  await using opened = new AsyncDisposableStack();
  opened.defer(() => rm(base, { recursive: true, force: true }));
  opened.defer(() => backend.stop({ purge: true }));
  await backend.start();
  const resources = opened.move();
  return {
    ...{ base, driver, backend },
    async bash(slot, command) {
      const [result] = await backend.executeBatch([[slot, 'bash', { command }]]);
      return result as ExecutionResult;
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

type Place = ProcessDriverOptions['workspacesOn'];
type Shared = Place | 'container with limits, behind a relay';
const shared = new Map<Shared, Promise<Fixture>>();

/** A backend that tests share if leftovers of others do not disturb them: each start of a backend takes a container. */
function sharedBackend(which: Shared): Promise<Fixture> {
  const fixture = shared.get(which) ?? startShared(which);
  shared.set(which, fixture);
  return fixture;
}

function startShared(which: Shared): Promise<Fixture> {
  const slotsPerContainer = 4;
  if (which === 'host' || which === 'container') return start({ workspacesOn: which }, { slotsPerContainer });
  const limits = { workspaceBytes: 200_000 };
  return start({ workspacesOn: 'container', reachedBy: 'relay' }, { slotsPerContainer, limits });
}

afterAll(async () => {
  for (const fixture of shared.values()) await (await fixture)[Symbol.asyncDispose]();
  shared.clear();
});

describe('a container that dies', () => {
  const dies = async ({ backend, driver, bash }: Fixture, files: 'kept' | 'reverted', left: string) => {
    const run = randomUUID();
    const before = await backend.acquire(run);
    await bash(before, 'echo saved > note');
    await backend.release(before);
    const slot = await backend.acquire(run);
    await bash(slot, 'echo new >> note');
    const running = bash(slot, 'sleep 60');
    await expect.poll(() => slot.state).toBe('executing');
    await driver.crash(slot.containerId);
    const gone = { success: false, metadata: { failure: 'gone', files_after_loss: files } };
    expect(await running).toMatchObject(gone);
    expect(await bash(slot, 'true')).toMatchObject(gone);
    await backend.release(slot);
    const again = await backend.acquire(run);
    expect(again.containerId).not.toBe(slot.containerId);
    expect((await bash(again, 'cat note')).output).toBe(left);
    await backend.release(again);
  };

  test('keeps a workspace on the host', async () => {
    await dies(await sharedBackend('host'), 'kept', 'saved\nnew\n');
  });

  test('loses the changes in a workspace inside it, and is noticed behind a relay', async () => {
    await dies(await sharedBackend('container with limits, behind a relay'), 'reverted', 'saved\n');
  });

  test('loses the same changes if its socket can be reached', { tags: ['soak'] }, async () => {
    await dies(await sharedBackend('container'), 'reverted', 'saved\n');
  });
});

describe('a workspace in a container', () => {
  /** A slot with files that are not saved, and the same files as they were before. */
  async function unsaved({ backend, bash }: Fixture, run: string): Promise<Slot> {
    const before = await backend.acquire(run);
    await bash(before, 'echo saved > note');
    await backend.release(before);
    const slot = await backend.acquire(run);
    await bash(slot, 'echo new >> note');
    return slot;
  }

  for (const [older, restored, tags] of [
    ['with', 'saved\nnew\n', []],
    ['without', 'new\n', ['soak']],
  ] as const)
    test(`is reverted when the container dies, and not read, written or captured until it is restored: ${older} older files`, {
      tags: [...tags],
    }, async () => {
      const fixture = await sharedBackend('container');
      const { backend, driver, bash } = fixture;
      const run = randomUUID();
      const slot = older === 'with' ? await unsaved(fixture, run) : await backend.acquire(run);
      if (older === 'without') await bash(slot, 'echo new > note');
      const checkpoint = await buffer((await backend.workspaces.snapshot(run))!);
      await bash(slot, 'truncate -s 50M large');
      expect(await backend.workspaces.isReverted(run)).toBe(false);
      expect(await backend.workspaces.capture(run)).toMatchObject({ entries: 2 });
      const reading = backend.workspaces.readFiles(run, [{ path: 'large' }, { path: 'note' }]);
      const first = await reading.next();
      assert(!first.done);

      await driver.crash(slot.containerId);
      const rest = async () => {
        for await (const _ of first.value.content());
        await reading.next();
      };
      await expect(rest()).rejects.toMatchObject({ code: 'artifact_changed' });
      await expect.poll(() => backend.workspaces.isReverted(run)).toBe(true);
      const reverted = { code: 'workspace_reverted' };
      const read = () => backend.workspaces.readFiles(run, [{ path: 'note' }]).next();
      await expect(read()).rejects.toMatchObject(reverted);
      await expect(backend.workspaces.capture(run)).rejects.toMatchObject(reverted);
      await backend.release(slot);
      await expect(read()).rejects.toMatchObject(reverted);
      await expect(backend.workspaces.capture(run)).rejects.toMatchObject(reverted);
      const write = async () => {
        const writer = await backend.workspaces.openWriter(run, { create: true });
        return writer?.write('sent', Readable.from([Buffer.from('sent')]));
      };
      await expect(write()).rejects.toMatchObject(reverted);
      expect(await backend.workspaces.isReverted(run)).toBe(true);

      // It waits for the end of the container, which could still hold the workspace.
      await backend.workspaces.restore(run, Readable.from([checkpoint]));
      expect(await backend.workspaces.isReverted(run)).toBe(false);
      expect(await backend.workspaces.capture(run)).toMatchObject({ entries: 1 });
      expect(await write()).toMatchObject({ path: 'sent', isNew: true });
      expect(await backend.workspaces.capture(run)).toMatchObject({ entries: 2 });
      const again = await backend.acquire(run);
      expect((await bash(again, 'cat note')).output).toBe(restored);
      await backend.release(again);
      expect(await backend.workspaces.isReverted(run)).toBe(false);
    });

  test('is reverted for the next process after this one was killed', async () => {
    const fixture = await sharedBackend('container');
    const [run, fresh] = [randomUUID(), randomUUID()];
    const held = [await unsaved(fixture, run), await fixture.backend.acquire(fresh)];
    // A killed process leaves its directory as it is, so the next one starts on a copy of it.
    const copy = join(fixture.base, 'killed');
    const ofProcess = join(fixture.base, 'workspaces/.sandbox/process');
    const filter = (path: string) => path !== ofProcess;
    await cp(join(fixture.base, 'workspaces'), copy, { recursive: true, filter });
    for (const slot of held) await fixture.backend.release(slot);
    const driver = new ProcessDriver({ dir: join(fixture.base, 'other'), workspacesOn: 'container' });
    const next = new ContainerBackend(driver, { workspacesDir: copy, warmSlots: 0 });
    await next.start();
    onTestFinished(() => next.stop());
    expect(await next.workspaces.isReverted(run)).toBe(true);
    await next.workspaces.discard(run);
    expect(await next.workspaces.isReverted(run)).toBe(false);
    // The list also names workspaces that have only a note left, so that somebody deletes them.
    expect(await next.workspaces.list()).toContain(fresh);
    for (const left of await next.workspaces.list()) await next.workspaces.discard(left);
    expect(await next.workspaces.list()).toEqual([]);
    expect(await readdir(join(copy, '.sandbox/away'))).toEqual([]);
  });

  test('comes back within four times its limit, as sparse and linked files have their whole size here', async () => {
    const { backend, bash, base } = await sharedBackend('container with limits, behind a relay');
    const [fits, over] = [randomUUID(), randomUUID()];
    const slot = await backend.acquire(fits);
    expect(await bash(slot, 'truncate -s 150K one two; ln one again')).toMatchObject({ success: true });
    await backend.release(slot);
    const again = await backend.acquire(fits);
    expect((await bash(again, 'stat -c %s one two again')).output).toBe('153600\n'.repeat(3));
    await backend.release(again);
    const other = await backend.acquire(over);
    expect(await bash(other, 'truncate -s 150K 1 2 3 4 5 6')).toMatchObject({ success: true });
    await expect(backend.release(other)).rejects.toMatchObject({
      code: 'slot_not_closed',
      message: expect.stringContaining('The snapshot is over 800000 bytes'),
    });
    await expect.poll(() => backend.workspaces.isReverted(over)).toBe(true);
    const kept = await readdir(join(base, 'workspaces'));
    expect(kept).toContain(`t-${fits}`);
    expect(kept).not.toContain(`t-${over}`);
  });

  test('without a trajectory is never reported as lost', async () => {
    const { backend, base } = await sharedBackend('container');
    const away = () => readdir(join(base, 'workspaces/.sandbox/away'));
    const before = await away();
    const slot = await backend.acquire();
    expect(await away()).toEqual(before);
    await backend.release(slot);
  });
});

test('files in a workspace on the host are written, captured, read, taken along and restored from here', async () => {
  const { backend, bash } = await sharedBackend('host');
  const [run, elsewhere] = [randomUUID(), randomUUID()];
  const slot = await backend.acquire(run);
  const writer = await backend.workspaces.openWriter(run);
  assert(writer);
  await writer.write('docs/sent', Readable.from([Buffer.from('sent\n')]));
  expect((await bash(slot, 'echo more >> docs/sent; touch docs/own; cat docs/sent')).output).toBe(
    'sent\nmore\n',
  );
  expect(await backend.workspaces.capture(run)).toMatchObject({
    changed: [
      { path: 'docs', type: 'directory' },
      { path: 'docs/own', type: 'file', size: 0 },
      { path: 'docs/sent', type: 'file', size: 10 },
    ],
  });
  const reader = await backend.workspaces.open(run);
  assert(reader);
  await using file = await reader.open('docs/sent');
  expect((await buffer(file.stream())).toString()).toBe('sent\nmore\n');
  const snapshot = await buffer((await backend.workspaces.snapshot(run))!);
  await backend.workspaces.restore(elsewhere, Readable.from([snapshot]));
  const restored = await backend.acquire(elsewhere);
  expect((await bash(restored, 'echo mine >> docs/sent; cat docs/sent; ls docs')).output).toBe(
    'sent\nmore\nmine\nown\nsent\n',
  );
  for (const each of [slot, restored]) await backend.release(each, { resetWorkspace: true });
});

test('the server inside opens no debugger for a command that signals it', async () => {
  const { backend, driver, bash } = await sharedBackend('container');
  const slot = await backend.acquire();
  await driver.signal(slot.containerId, 'SIGUSR1');
  expect((await bash(slot, 'echo alive')).output).toBe('alive\n');
  expect((await driver.examine(slot.containerId)).printed).toBe('');
  await backend.release(slot);
});

test('reads from a container that ends fail with `artifact_changed`, and nothing else fails', async () => {
  const { backend, driver, bash } = await sharedBackend('container');
  const run = randomUUID();
  const slot = await backend.acquire(run);
  await bash(slot, 'truncate -s 50M file');
  const reader = await backend.workspaces.open(run);
  assert(reader);
  const archive = (await reader.archive('.', { format: 'tar' }))[Symbol.asyncIterator]();
  await using file = await reader.open('file');
  const stream = file.stream()[Symbol.asyncIterator]();
  for (const chunks of [archive, stream]) await chunks.next();
  await driver.crash(slot.containerId);
  for (const chunks of [archive, stream])
    await expect(
      (async () => {
        for (;;) if ((await chunks.next()).done) return;
      })(),
    ).rejects.toMatchObject({ code: 'artifact_changed' });
});

test('a server with the same id on another machine keeps its containers, and what they leave is removed', async () => {
  const { base, driver, backend, bash } = await sharedBackend('container');
  const slot = await backend.acquire();
  const copy = join(base, 'copy');
  await cp(join(base, 'workspaces/.sandbox/process/server'), join(copy, '.sandbox/process/server'), {
    recursive: true,
  });
  const path = join(base, 'driver', slot.containerId, 'container');
  const note = JSON.parse(await readFile(path, 'utf8'));
  const elsewhere = { [LABELS.machine]: 'another', [LABELS.lease]: '/not/here/lease' };
  await writeFile(path, JSON.stringify({ ...note, labels: { ...note.labels, ...elsewhere } }));

  const startCopy = async () => {
    const second = new ContainerBackend(driver, { workspacesDir: copy, warmSlots: 0 });
    await second.start();
    await second.stop();
  };
  await startCopy();
  expect((await bash(slot, 'echo well')).output).toBe('well\n');

  await driver.crash(slot.containerId);
  await driver.ended(slot.containerId, AbortSignal.timeout(60_000));
  await startCopy();
  expect(await readdir(join(base, 'driver'))).not.toContain(slot.containerId);
});

test('a start that is under way ends when the backend is stopped, and leaves no container', async () => {
  const base = await mkdtemp(join(tmpdir(), 'talaria-container-test-'));
  const begun = Promise.withResolvers<void>();
  /** As if it waited for an image. */
  class SlowDriver extends ProcessDriver {
    override async start(request: ContainerRequest, signal?: AbortSignal): Promise<string> {
      await super.start(request);
      begun.resolve();
      return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
    }
  }
  const driver = new SlowDriver({ dir: join(base, 'driver'), workspacesOn: 'container' });
  const backend = new ContainerBackend(driver, { workspacesDir: join(base, 'workspaces') });
  const started = backend.start();
  const refused = expect(started).rejects.toMatchObject({
    code: 'backend_down',
    message: 'The Processes backend was stopped before it had started.',
  });
  await begun.promise;
  await backend.stop({ purge: true });
  await refused;
  expect(await readdir(join(base, 'driver'))).toEqual([]);
  expect(await readdir(join(base, 'workspaces'))).toEqual([]);
  await rm(base, { recursive: true });
});

test('a call that is too large to be sent is refused, and the container lives', async () => {
  const { backend, bash } = await sharedBackend('host');
  const slot = await backend.acquire();
  const content = 'x'.repeat(MAX_FRAME_BYTES);
  const [result] = await backend.executeBatch([[slot, 'write_file', { path: 'large', content }]]);
  expect(result).toMatchObject({ success: false, metadata: { failure: 'invalid_request' } });
  expect(result?.error).toContain('allowed: up to');
  expect((await bash(slot, 'ls; echo alive')).output).toBe('alive\n');
  await backend.release(slot);
});

describe('without namespaces inside', () => {
  const noNesting = 'this driver has none';

  for (const workspacesOn of ['container', 'host'] as const) {
    const tags = workspacesOn === 'host' ? ['soak'] : [];
    test(`a container is for one slot, and a workspace on the ${workspacesOn} is kept`, {
      tags,
    }, async () => {
      await using fixture = await start({ workspacesOn, noNesting });
      const { backend, bash } = fixture;
      expect(backend.stats().isolation).toMatchObject({ kind: 'container' });
      const slot = await backend.acquire('run');
      await bash(slot, 'echo kept > note; echo kept > "$TMPDIR/note"');
      const path = (await bash(slot, 'seq 1 20000')).metadata.full_output_path as string;
      // These containers are processes of this machine, so each sees its workspaces at another path.
      const [below = ''] = /\/\.sandbox\/slots\/.*/.exec(path)!;
      const wholeIn = async (held: Slot) =>
        (await backend.readArtifact(held, dirname(held.workspaceDir) + below)).size;
      expect(await wholeIn(slot)).toBe(108_894);
      await backend.release(slot);
      const reader = await backend.workspaces.open('run');
      await using file = await reader!.open(`/workspaces${below}`);
      expect(file.size).toBe(108_894);
      const again = await backend.acquire('run');
      expect(again.containerId).not.toBe(slot.containerId);
      expect((await bash(again, 'cat note "$TMPDIR/note"')).output).toBe('kept\nkept\n');
      expect(await wholeIn(again)).toBe(108_894);
    });
  }

  test('several slots in a container are refused', async () => {
    await expect(start({ workspacesOn: 'host', noNesting }, { slotsPerContainer: 2 })).rejects.toMatchObject({
      code: 'isolation_unavailable',
      message: expect.stringContaining(noNesting),
    });
  });
});

describe('a backend that is stopped', () => {
  test.each(['host', 'container'] as const)(
    'answers what runs, refuses, leaves no container, and saves the workspaces on the %s until they are purged',
    async (workspacesOn) => {
      const { backend, base, bash } = await sharedBackend(workspacesOn);
      const run = randomUUID();
      const slot = await backend.acquire(run);
      await bash(slot, 'echo kept > note');
      const running = bash(slot, 'sleep 60');
      await expect.poll(() => slot.state).toBe('executing');
      await backend.stop();
      expect(await running).toMatchObject({ success: false, metadata: { failure: 'aborted' } });
      expect(await bash(slot, 'true')).toMatchObject({
        success: false,
        metadata: { failure: 'backend_down' },
      });
      await expect(backend.acquire(run)).rejects.toMatchObject({ code: 'backend_down' });
      expect(await readdir(join(base, 'driver'))).toEqual([]);
      await backend.start();
      const again = await backend.acquire(run);
      expect((await bash(again, 'cat note')).output).toBe('kept\n');
      await backend.stop({ purge: true });
      expect(await readdir(join(base, 'workspaces'))).toEqual([]);
    },
  );
});
