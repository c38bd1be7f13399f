import { expect, test } from 'vitest';
import { noReport } from '../telemetry/facts.ts';
import { openConfiguredStore } from './configured-store.ts';

test('a Postgres database that cannot be opened is named with its setting, without the password', async () => {
  const url = 'postgres://ada:hunter2@127.0.0.1:1/runs';
  const opening = openConfiguredStore(
    { database: { kind: 'postgres', url } },
    { serverId: 'srv', report: noReport, onFatal: (error) => expect.unreachable(error.message) },
  );
  await expect(opening).rejects.toThrow(
    /^The database cannot be opened: connect ECONNREFUSED 127\.0\.0\.1:1; TALARIA_DATABASE_URL names 127\.0\.0\.1:1\/runs$/,
  );
});
