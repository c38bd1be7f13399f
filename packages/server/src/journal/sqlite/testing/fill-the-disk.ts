/**
 * Runs under a limit on the size of files: appends until the journal refuses, removes the limit, continues, and prints
 * what it saw as JSON. Node ignores SIGXFSZ, so a write over the limit fails like one to a full disk.
 */
import { execFileSync } from 'node:child_process';
import { TalariaError } from '@talaria/protocol';
import { claimedRun, completed, NO_LIMIT, newRun, reasoning } from '../../testing/records.ts';
import { SqliteJournal } from '../sqlite-journal.ts';

const codeOf = (error: unknown) => (error instanceof TalariaError ? error.code : String(error));
const journal = await SqliteJournal.open({ path: process.argv[2]! });
const claim = await claimedRun(journal);
const large = reasoning('x'.repeat(20_000));

let taken = 0;
let refused = '';
while (refused === '') {
  await journal.append(claim, [large]).then(
    () => taken++,
    (error) => {
      refused = codeOf(error);
    },
  );
}
// A group of which one request would fit and the other would not: neither may be half done.
const group = await Promise.allSettled([
  journal.createRun(newRun({ request: { prompt: 'x'.repeat(200_000), session_named: false } }), NO_LIMIT),
  journal.append(claim, [large, large]),
]);
const whileFull = {
  events: (await journal.readEvents(claim.runId, -1, 10_000)).length,
  nextSeq: (await journal.getRun(claim.runId))?.nextSeq,
  runs: (await journal.listRuns({ owner: 'ada', limit: 10 })).runs.length,
};

const healthWhileFull = await journal.checkHealth();

execFileSync('prlimit', ['--pid', String(process.pid), '--fsize=unlimited:unlimited']);
const healthAfter = await journal.checkHealth();
const depth = await journal.queueDepth();
const [next] = await journal.append(claim, [large]);
await journal.append(claim, [completed()]);
await journal.close();

const groupCodes = group.map((result) => (result.status === 'rejected' ? codeOf(result.reason) : 'taken'));
const seen = {
  taken,
  refused,
  groupCodes,
  whileFull,
  depth,
  nextSeq: next?.seq,
  healthWhileFull,
  healthAfter,
};
process.stdout.write(JSON.stringify(seen));
