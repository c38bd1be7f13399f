/** The thread that compares files line by line, one pair after the other. */
import { answerJobs } from '../basics/job-thread-program.ts';
import { compareContents } from './compare-contents.ts';
import { gitBlobId } from './git-blob-id.ts';
import type { PairQuestion, ThreadResult } from './line-thread-messages.ts';

answerJobs(({ before, after, maxSteps, patch }: PairQuestion): ThreadResult => {
  const text = compareContents({ before, after }, { maxSteps, hunks: patch });
  return {
    text: text && { ...text, hunks: Buffer.from(text.hunks, 'latin1') },
    blobIds: patch ? { before: gitBlobId(before), after: gitBlobId(after) } : undefined,
  };
});
