/**
 * The contract of `Journal` as a test suite. Every driver runs it from its own test file:
 *
 *   describeJournalContract('sqlite', openTempJournal);
 *
 * `open` gives an empty journal each time. The suite uses only the `Journal` interface and the clock it injects. A
 * driver that uses a database server's time says `clock: 'real'`, and the tests that move time are skipped for it. A
 * store that several servers share says `shared`, and has to know them.
 */
import { afterEach, beforeEach, describe, it } from 'vitest';
import type { BlobStore } from '../blobs/blob-store.ts';
import { appendContract } from './contract/append.contract.ts';
import { changesContract } from './contract/changes.contract.ts';
import { checkpointsContract } from './contract/checkpoints.contract.ts';
import { claimContract } from './contract/claim.contract.ts';
import { contentsContract } from './contract/contents.contract.ts';
import { conversationsContract } from './contract/conversations.contract.ts';
import { createContract } from './contract/create.contract.ts';
import { decisionsContract } from './contract/decisions.contract.ts';
import { filesContract } from './contract/files.contract.ts';
import { grantsContract } from './contract/grants.contract.ts';
import { headsContract } from './contract/heads.contract.ts';
import { jobsContract } from './contract/jobs.contract.ts';
import { keepContract } from './contract/keep.contract.ts';
import { keptRunsContract } from './contract/kept-runs.contract.ts';
import { leaseContract } from './contract/lease.contract.ts';
import { outboxContract } from './contract/outbox.contract.ts';
import { parkedContract } from './contract/parked.contract.ts';
import { peersContract } from './contract/peers.contract.ts';
import { postContract } from './contract/post.contract.ts';
import { queuePositionContract } from './contract/queue-position.contract.ts';
import { readContract } from './contract/read.contract.ts';
import { responsesContract } from './contract/responses.contract.ts';
import { sessionDetailsContract } from './contract/session-details.contract.ts';
import { sessionsContract } from './contract/sessions.contract.ts';
import { terminalContract } from './contract/terminal.contract.ts';
import { watchContract } from './contract/watch.contract.ts';
import type { Journal } from './journal.ts';
import { TestClock } from './testing/records.ts';

export interface JournalFixture {
  journal: Journal;
  /** The bytes that the journal refers to. */
  readonly blobs: BlobStore;
  /** Closes the journal and opens it on the same data. */
  reopen(): Promise<Journal>;
  /** Closes the journal, if it is open, and removes its data. */
  dispose(): Promise<void>;
}

export type OpenJournal = (options: { now?: () => number }) => Promise<JournalFixture>;

/** What the sections test: the journal of the present test. */
export interface Subject {
  readonly journal: Journal;
  readonly blobs: BlobStore;
  readonly clock: TestClock;
  reopen(): Promise<Journal>;
  /** `it`, for tests that move the clock. */
  itTimed: typeof it | typeof it.skip;
}

export function describeJournalContract(
  name: string,
  open: OpenJournal,
  { clock: kind = 'injected', shared = false }: { clock?: 'injected' | 'real'; shared?: boolean } = {},
): void {
  describe(`the journal contract: ${name}`, () => {
    let fixture: JournalFixture;
    let clock: TestClock;

    beforeEach(async () => {
      clock = new TestClock();
      fixture = await open(kind === 'injected' ? { now: clock.now } : {});
    });
    afterEach(() => fixture.dispose());

    const subject: Subject = {
      get journal() {
        return fixture.journal;
      },
      get blobs() {
        return fixture.blobs;
      },
      get clock() {
        return clock;
      },
      reopen: () => fixture.reopen(),
      itTimed: kind === 'injected' ? it : it.skip,
    };
    describe('createRun', () => createContract(subject));
    describe('append', () => appendContract(subject));
    describe('the end of a run', () => terminalContract(subject));
    describe('post', () => postContract(subject));
    describe('claim', () => claimContract(subject));
    describe('leases', () => leaseContract(subject));
    describe('parked runs', () => parkedContract(subject));
    describe('queuePosition', () => queuePositionContract(subject));
    describe('decisions', () => decisionsContract(subject));
    describe('grants', () => grantsContract(subject));
    describe('sessions', () => sessionsContract(subject));
    describe('sessions', () => sessionDetailsContract(subject));
    describe('conversations', () => conversationsContract(subject));
    describe('references to blobs', () => contentsContract(subject));
    describe('files', () => filesContract(subject));
    describe('the outbox', () => outboxContract(subject));
    describe('responses', () => responsesContract(subject));
    describe('jobs', () => jobsContract(subject));
    describe('reading', () => readContract(subject));
    describe('heads', () => headsContract(subject));
    describe('changes', () => changesContract(subject));
    describe('watching', () => watchContract(subject));
    if (shared) describe('the servers', () => peersContract(subject));
    describe('checkpoints', () => checkpointsContract(subject));
    describe('kept runs', () => keptRunsContract(subject));
    describe('keeping and closing', () => keepContract(subject));
  });
}
