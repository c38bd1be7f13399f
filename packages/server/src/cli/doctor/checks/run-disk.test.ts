import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { migrate } from '../../../journal/sqlite/migrations.ts';
import { SqliteJournal } from '../../../journal/sqlite/sqlite-journal.ts';
import { KEPT_THREADS } from '../../../journal/sqlite/testing/kept-threads.ts';
import { tempDirectory } from '../../../journal/sqlite/testing/temp-journal.ts';
import { finishedRun } from '../../../journal/testing/records.ts';
import { checkRunDisk } from './run-disk.ts';

test('finished runs that take more than they may are a warning, also while a server runs', async () => {
  using directory = tempDirectory();
  const path = join(directory.path, 'talaria.db');
  const check = (runDiskBytes?: number) =>
    checkRunDisk({ database: { kind: 'sqlite', path }, dataDir: directory.path, runDiskBytes });
  // Nothing is there yet, and nothing is made.
  expect(await check()).toMatchObject({ status: 'ok', detail: expect.stringContaining('take 0 B of at') });
  const journal = await SqliteJournal.open({ path, threads: KEPT_THREADS });
  const runId = await finishedRun(journal);
  await journal.kept.measured('server', [{ runId, bytes: 50_000_000 }]);
  expect(await check(100_000_000)).toMatchObject({ status: 'ok' });
  expect(await check(10_000_000)).toMatchObject({
    status: 'warning',
    detail: expect.stringContaining('take 50 MB of at most 10 MB'),
    fix: expect.stringContaining('TALARIA_RUN_DISK_BYTES'),
  });
  await journal.close();
});

test('a store of an earlier version has measured nothing', async () => {
  using directory = tempDirectory();
  const path = join(directory.path, 'talaria.db');
  using db = new DatabaseSync(path);
  migrate(db, 19);
  const found = await checkRunDisk({
    database: { kind: 'sqlite', path },
    dataDir: directory.path,
    runDiskBytes: 1,
  });
  expect(found.status).toBe('ok');
});
