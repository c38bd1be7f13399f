import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { fixturePath } from './testing/processes.ts';
import { tempDirectory } from './testing/temp-journal.ts';

const run = promisify(execFile);
const hasPrlimit = spawnSync('prlimit', ['--version']).status === 0;

// Without prlimit (util-linux) the size of files cannot be limited for one process only.
it.skipIf(!hasPrlimit)(
  'a full disk refuses the write and changes nothing; with room again everything continues',
  async () => {
    using directory = tempDirectory();
    const path = join(directory.path, 'talaria.db');

    const { stdout } = await run('prlimit', [
      '--fsize=600000:unlimited',
      process.execPath,
      fixturePath('fill-the-disk'),
      path,
    ]);

    const { taken, ...seen } = JSON.parse(stdout);
    expect(taken).toBeGreaterThan(5);
    const lastError = { message: expect.stringMatching(/disk/), at: expect.any(Number) };
    expect(seen).toEqual({
      refused: 'store_unavailable',
      groupCodes: ['store_unavailable', 'store_unavailable'],
      whileFull: { events: taken, nextSeq: taken, runs: 1 },
      depth: { queued: 0, leased: 1, waiting: 0, waitingForApproval: 0 },
      nextSeq: taken,
      healthWhileFull: { writable: false, lastError },
      healthAfter: { writable: true, lastError },
    });
  },
);
