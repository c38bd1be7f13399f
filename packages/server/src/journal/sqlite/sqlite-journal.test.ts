import { describeJournalContract } from '../journal.contract.ts';
import { openTempJournal } from './testing/temp-journal.ts';

describeJournalContract('sqlite', openTempJournal);
