/** The runs of a server that died are free as soon as it is back; those of other servers stay theirs. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { LeaseLostError } from '../journal.ts';
import { claimedRun, LEASE_MS, reasoning } from '../testing/records.ts';
import { PostgresJournal } from './postgres-journal.ts';
import { type SharedPostgres, sharedPostgres } from './testing/start-postgres.ts';

let postgres: SharedPostgres;
beforeAll(async () => {
  postgres = await sharedPostgres();
});
afterAll(() => postgres?.stop());

it('a server that is back continues its own runs at once, and no others', async () => {
  const url = await postgres.createDatabase();
  const before = await PostgresJournal.open({ url, worker: 'one' });
  const own = await claimedRun(before, {}, 'one');
  const others = await claimedRun(before, {}, 'two');

  const back = await PostgresJournal.open({ url, worker: 'one' });
  const claims = await back.claim('one', LEASE_MS, 10);
  expect(claims).toMatchObject([{ runId: own.runId, epoch: own.epoch + 1 }]);
  await expect(before.append(own, [reasoning('late')])).rejects.toThrow(LeaseLostError);
  await back.append(others, [reasoning('in time')]);

  await before.close();
  await back.close();
});

it('a late write of its former life is refused, also before anybody claims the run', async () => {
  const url = await postgres.createDatabase();
  const before = await PostgresJournal.open({ url, worker: 'one' });
  const own = await claimedRun(before, {}, 'one');
  const back = await PostgresJournal.open({ url, worker: 'one' });
  await expect(before.append(own, [reasoning('late')])).rejects.toThrow(LeaseLostError);
  await before.close();
  await back.close();
});
