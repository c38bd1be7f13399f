/** The part of the contract suite about moving a workspace to another machine (snapshots.ts). */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ExecutionResult, Slot } from '../backend.ts';
import { type ContractTools, FIFOS_STAY_INSIDE } from '../testing/contract-tools.ts';

/** Everything about the files that a command can see, except their owners and the permissions of links. */
const DESCRIBE = `find . -mindepth 1 \\( -type l -printf '%P %y %l\\n' -o -printf '%P %y %m %TY%Tj%TH%TM%.6TS\\n' \\) | sort;
find . -type f -exec cksum {} + | sort`;

export function describeSnapshots({
  bash,
  call,
  backend,
  slot,
  when,
  sameEverywhere,
  race,
  ownKernel,
}: ContractTools): void {
  /** A trajectory without a workspace yet, as on another machine. */
  let elsewhere: string;
  let restored: Slot | undefined;

  const trajectory = (): string => slot().trajectoryId!;
  const run = async (command: string): Promise<string> => {
    const result = await bash(command);
    expect(result, result.output + result.error).toMatchObject({ success: true });
    return result.output;
  };
  const take = async (options = {}): Promise<Buffer> => {
    const chunks: Buffer[] = [];
    for await (const chunk of (await backend().workspaces.snapshot(trajectory(), options))!)
      chunks.push(chunk);
    return Buffer.concat(chunks);
  };
  const restore = (snapshot: Buffer, cut = snapshot.length) =>
    backend().workspaces.restore(elsewhere, pieces(snapshot.subarray(0, cut)));
  const there = async (command: string): Promise<ExecutionResult> => {
    restored ??= await backend().acquire(elsewhere);
    return await call('bash', { command }, {}, restored);
  };

  describe('snapshots', when('snapshots'), () => {
    beforeEach(() => {
      elsewhere = `elsewhere ${randomUUID()}`;
      restored = undefined;
    });
    afterEach(async () => {
      if (restored) await backend().release(restored, { resetWorkspace: true });
      await backend().workspaces.discard(elsewhere);
    });

    test('a restored workspace has the files, directories, links, rights and times, and can be worked in', async () => {
      const long = 'y'.repeat(200);
      await run(
        `mkdir -p d/empty ${long}/${long}; echo plain > d/plain; chmod 640 d/plain; touch -d @1500000000.25 d/plain;` +
          `printf '#!/bin/sh\\necho ran\\n' > tool; chmod 755 tool; head -c 300000 /dev/urandom > large; : > nothing;` +
          `ln -s d/plain inner; ln -s /etc/passwd outer; ln -s nowhere dangling; ln -s "$(printf 'x%.0s' $(seq 300))" far;` +
          `echo 1 > '日本 🙂'; echo 2 > $'new\\nline'; echo 3 > "$(printf 'bad\\377')"; echo 4 > ${long}/${long}/z;` +
          `echo x > d/closed; chmod 500 d; touch -d @1400000000 d`,
      );
      const before = await run(DESCRIBE);
      expect(await restore(await take())).toMatchObject({ omitted: 0 });
      expect((await there(DESCRIBE)).output).toBe(before);
      expect((await there('./tool; echo more >> large; cat inner')).output).toBe('ran\nplain\n');
      await there('chmod 700 d');
      await run('chmod 700 d');
    });

    test('a restored workspace replaces everything that was there, also if it is empty', async () => {
      await there('echo old > old; mkdir only-here');
      await backend().release(restored!);
      restored = undefined;
      expect(await restore(await take())).toMatchObject({ omitted: 0 });
      expect((await there('ls')).output).toBe('');
      await expect(restore(await take())).rejects.toMatchObject({ code: 'slot_held' });
    });

    test('counts entries that cannot be stored', sameEverywhere, async ({ skip }) => {
      skip(ownKernel, FIFOS_STAY_INSIDE);
      await run('echo kept > file; mkfifo pipe');
      expect(await restore(await take())).toEqual({ entries: 1, omitted: 1 });
      expect((await there('ls')).output).toBe('file\n');
    });

    test('a damaged or incomplete one changes nothing', sameEverywhere, async () => {
      await run('head -c 200000 /dev/urandom > file');
      await there('echo old > old');
      await backend().release(restored!);
      restored = undefined;
      const snapshot = await take();
      for (const cut of [0, 100, snapshot.length - 1]) {
        await expect(restore(snapshot, cut)).rejects.toMatchObject({ code: 'snapshot_damaged' });
      }
      const flipped = Buffer.from(snapshot);
      flipped[100_000]! ^= 1;
      await expect(restore(flipped)).rejects.toMatchObject({ code: 'snapshot_damaged' });
      expect((await there('ls')).output).toBe('old\n');
    });

    test('an aborted restore changes nothing, nor does one whose source fails', sameEverywhere, async () => {
      await run('head -c 200000 /dev/urandom > file');
      const snapshot = await take();
      async function* broken() {
        yield snapshot.subarray(0, 100_000);
        throw new Error('the source is gone');
      }
      await expect(backend().workspaces.restore(elsewhere, broken())).rejects.toThrow('the source is gone');
      const gaveUp = AbortSignal.abort(new Error('gave up'));
      await expect(
        backend().workspaces.restore(elsewhere, pieces(snapshot), { signal: gaveUp }),
      ).rejects.toThrow();
      expect(await backend().workspaces.open(elsewhere)).toBeUndefined();
    });

    test('fails over the limit', async () => {
      await run('head -c 200000 /dev/urandom > file');
      await expect(take({ maxBytes: 199_999 })).rejects.toMatchObject({ code: 'artifact_too_large' });
      await take({ maxBytes: 200_000 });
    });

    test('is undefined without a workspace', async () => {
      expect(await backend().workspaces.snapshot(elsewhere)).toBeUndefined();
    });

    race('a directory that becomes a link while it is read leads nowhere', async (racing) => {
      if (backend().stats().isolation.kind === 'none') return;
      const outside = mkdtempSync(join(tmpdir(), 'talaria-outside-'));
      try {
        await run(
          'mkdir -p real/sub; for i in $(seq 50); do echo mine > real/sub/f$i; done; cp -r real/sub turning',
        );
        racing.against(
          `while :; do rm -rf turning; ln -s ${outside} turning; rm turning; cp -r real/sub turning; done`,
        );
        let taken = 0;
        while (racing.lasts(() => taken > 0)) {
          // A tree that changes meanwhile may end a snapshot; one that completed is restored.
          const snapshot = await take().catch(() => undefined);
          if (!snapshot) continue;
          taken++;
          await restore(snapshot);
        }
        await racing.end();
        expect(taken).toBeGreaterThan(0);
        expect(readdirSync(outside)).toEqual([]);
      } finally {
        rmSync(outside, { recursive: true });
      }
    });
  });
}

/** As they come from elsewhere: cut anywhere. */
async function* pieces(bytes: Buffer): AsyncGenerator<Buffer, void> {
  for (let at = 0; at < bytes.length; at += 7_001) yield bytes.subarray(at, at + 7_001);
}
