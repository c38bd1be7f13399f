import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { migrate } from '../../../journal/sqlite/migrations.ts';
import { writeMark } from '../../../journal/sqlite/move-mark.ts';
import { tempDirectory } from '../../../journal/sqlite/testing/temp-journal.ts';
import { checkDatabase } from './database.ts';

it.each([
  ['copying', 'failed', /Run the same talaria migrate-store command again/],
  ['different', 'failed', /--start-over/],
  ['verified', 'ok', undefined],
] as const)(
  'a database that is the target of a move in the state %s is reported as %s',
  (state, status, fix) => {
    using directory = tempDirectory();
    const path = join(directory.path, 'talaria.db');
    using db = new DatabaseSync(path);
    chmodSync(path, 0o600);
    migrate(db);
    writeMark(db, { state, source: 'x', held: { rows: {}, counters: {} } });
    const finding = checkDatabase(path);
    expect(finding).toMatchObject({
      status,
      ...(fix === undefined ? {} : { fix: expect.stringMatching(fix) }),
    });
  },
);

it('a database that other users can read, or whose directory they can enter, is a warning that says what to do', () => {
  using directory = tempDirectory();
  const path = join(directory.path, 'talaria.db');
  using db = new DatabaseSync(path);
  migrate(db);
  chmodSync(path, 0o644);
  expect(checkDatabase(path)).toMatchObject({ status: 'warning', fix: `chmod 600 ${path}` });
  chmodSync(path, 0o600);
  expect(checkDatabase(path).status).toBe('ok');
  chmodSync(directory.path, 0o711);
  expect(checkDatabase(path)).toMatchObject({
    status: 'warning',
    fix: expect.stringContaining(`chmod 700 ${directory.path}`),
  });
});
