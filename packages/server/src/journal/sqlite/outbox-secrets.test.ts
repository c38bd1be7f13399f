import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { approvalRequest, claimedRun, completed, HEADS_KEPT } from '../testing/records.ts';
import { SqliteJournal } from './sqlite-journal.ts';
import { tempDirectory } from './testing/temp-journal.ts';

const CLAIM = { leaseMs: 30_000, limit: 10, perReceiver: 10 };

it("a run's own secret is in the database while a message may need it, and no longer", async () => {
  using directory = tempDirectory();
  const path = join(directory.path, 'talaria.db');
  const journal = await SqliteJournal.open({ path });
  const secrets = () => {
    using db = new DatabaseSync(path, { readOnly: true });
    return db.prepare('SELECT secret FROM webhooks').all();
  };
  const secret = { kind: 'own', value: 'the secret of the run' } as const;
  const run = await claimedRun(journal, { webhook: { url: 'https://example.com/', secret } });
  await journal.append(run, [approvalRequest('a')]);
  const [asking] = await journal.outbox.claim(CLAIM);
  await journal.outbox.settle(asking!, { kind: 'delivered' });
  expect(secrets()).toEqual([{ secret: secret.value }]);

  await journal.append(run, [completed()]);
  const [ending] = await journal.outbox.claim(CLAIM);
  expect(secrets()).toEqual([{ secret: secret.value }]);
  await journal.outbox.settle(ending!, { kind: 'failed', error: 'answered 410' });
  expect(secrets()).toEqual([{ secret: null }]);
  expect(await journal.outbox.state(run.runId)).toMatchObject({ delivered: 1, failed: 1 });

  await journal.evict([run.runId], HEADS_KEPT);
  expect(secrets()).toEqual([]);
  await journal.close();
});
