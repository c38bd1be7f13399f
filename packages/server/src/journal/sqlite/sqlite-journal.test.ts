import { describeJournalContract } from '../journal-contract.ts';
import { openTempJournal } from './testing.ts';

describeJournalContract('sqlite', openTempJournal);
