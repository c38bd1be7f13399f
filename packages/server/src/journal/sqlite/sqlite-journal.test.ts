import { expect, it } from 'vitest';
import { describeJournalContract } from '../journal.contract.ts';
import { finishedRun } from '../testing/records.ts';
import { openTempJournal } from './testing/temp-journal.ts';

describeJournalContract('sqlite', openTempJournal);

it('the end of a run without a webhook makes nobody look for messages', async () => {
  const { journal, dispose } = await openTempJournal();
  let woken = 0;
  journal.outbox.watch(() => woken++);
  await finishedRun(journal);
  expect(woken).toBe(0);
  await finishedRun(journal, { webhook: { url: 'https://example.com/', secret: { kind: 'none' } } });
  expect(woken).toBe(1);
  await dispose();
});
