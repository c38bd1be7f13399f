import { expect, it } from 'vitest';
import { load, problemsOf } from './testing/load.ts';

const POSTGRES = { TALARIA_DATABASE_URL: 'postgres://talaria@db.example.com/talaria' };
const ON = { TALARIA_WORKSPACE_SNAPSHOTS: 'database' };

it('stores no snapshots of workspaces by default', () => {
  expect(load().config).toMatchObject({
    workspaceSnapshots: 'off',
    workspaceSnapshotMaxBytes: 64 * 1024 ** 2,
  });
  expect(load({ env: { ...POSTGRES, ...ON } }).config.workspaceSnapshots).toBe('database');
});

it('refuses them on SQLite, whose runs never continue on another machine', () => {
  expect(problemsOf({ env: ON })).toEqual([
    'TALARIA_WORKSPACE_SNAPSHOTS is "database" and the database is SQLite, whose runs never continue on another machine; ' +
      'set TALARIA_DATABASE_URL to a Postgres database, or leave it off',
  ]);
});
