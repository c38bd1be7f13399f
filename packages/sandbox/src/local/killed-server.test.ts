/** A server killed with many slots in use: the next one finds its workspaces, and nothing else is left. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, test } from 'vitest';
import type { Isolation } from '../backend.ts';
import { processesWith, uniqueSeconds } from '../testing/host-processes.ts';
import { LocalBackend } from './local-backend.ts';
import { tagsOf, whyUnavailable } from './testing/why-unavailable.ts';

const SIZES = [
  { slots: 2, tags: [] },
  { slots: 50, tags: ['soak'] },
];
const OTHERS_SLOTS = 1;
/** The processes of testing/slot-holder.ts that have the seconds among their arguments: four in each slot, and itself. */
const processesOf = (slots: number) => 4 * slots + 1;
const KINDS: Isolation['kind'][] = ['bubblewrap', 'unshare', 'none'];

for (const isolation of KINDS) {
  const reason = await whyUnavailable(isolation);
  const title = reason === undefined ? isolation : `${isolation} (missing: ${reason})`;
  describe.skipIf(reason !== undefined)(title, { tags: await tagsOf(isolation) }, () => {
    for (const { slots, tags } of SIZES) {
      const name = `a start after kill -9 with ${slots} slots in use ends all of it, keeps the workspaces and leaves others alone`;
      test(name, { tags }, async () => {
        const [own, others] = [uniqueSeconds(), uniqueSeconds()];
        const [dir, othersDir] = [await temporaryDirectory(), await temporaryDirectory()];
        await using other = await hold(othersDir, isolation, OTHERS_SLOTS, others);
        await using killed = await hold(dir, isolation, slots, own);
        const count = (seconds: string) => processesWith(seconds).length;
        await expect.poll(() => count(own)).toBe(processesOf(slots));
        await expect.poll(() => count(others)).toBe(processesOf(OTHERS_SLOTS));

        await killed.kill();
        // With isolation the kernel ends them; without, the sweep of the next start does.
        if (isolation !== 'none') await expect.poll(() => count(own)).toBe(0);
        const next = new LocalBackend({ workspacesDir: dir, isolation });
        await next.start();
        await expect.poll(() => count(own)).toBe(0);

        const held = await Promise.all(Array.from({ length: slots }, (_, i) => next.acquire(`held-${i}`)));
        const notes = await next.executeBatch(held.map((slot) => [slot, 'read_file', { path: 'note' }]));
        expect(notes.map(({ output }) => output)).toEqual(held.map((_, i) => `note of held-${i}`));
        const listed = await next.executeBatch(held.map((slot) => [slot, 'process', { action: 'list' }]));
        expect(listed.flatMap(({ metadata }) => metadata.processes)).toEqual([]);
        const roots = (await readdir(join(dir, '.sandbox'))).filter((name) => name.startsWith('root-'));
        expect(roots).toHaveLength(isolation === 'none' ? 0 : 1);

        expect(count(others)).toBe(processesOf(OTHERS_SLOTS));
        expect(await other.notes()).toEqual(
          Array.from({ length: OTHERS_SLOTS }, (_, i) => `note of held-${i}`),
        );
        await other.kill();
        // It ends what the other left, if processes do not die with their server.
        const swept = new LocalBackend({ workspacesDir: othersDir, isolation });
        await swept.start();
        await expect.poll(() => count(others)).toBe(0);
        await Promise.all([next.stop(), swept.stop()]);
        await Promise.all([dir, othersDir].map((path) => rm(path, { recursive: true })));
      });
    }
  });
}

/** Resolves when all of its commands run. */
async function hold(workspacesDir: string, isolation: Isolation['kind'], slots: number, seconds: string) {
  const program = new URL('./testing/slot-holder.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [program, workspacesDir, isolation, String(slots), seconds], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const line = async () => (await lines.next()).value;
  const kill = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  if ((await line()) !== 'holding') throw new Error('The server holds no slots');
  return {
    kill,
    notes: async () => {
      child.stdin.write('notes\n');
      return JSON.parse((await line()) ?? 'null');
    },
    [Symbol.asyncDispose]: kill,
  };
}

function temporaryDirectory(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'talaria-killed-test-'));
}
