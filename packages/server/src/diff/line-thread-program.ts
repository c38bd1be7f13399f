/** The thread that compares files line by line, one pair after the other. */
import { parentPort } from 'node:worker_threads';
import { compareContents } from './compare-contents.ts';
import { gitBlobId } from './git-blob-id.ts';
import type { FromThread, ThreadResult, ToThread } from './line-thread-messages.ts';

const port = parentPort!;

port.on('message', (message: ToThread) => {
  const { id } = message;
  try {
    say({ id, compared: compare(message) });
  } catch (error) {
    say({ id, failed: (error as Error).message });
  }
});

function compare({ before, after, maxSteps, patch }: ToThread): ThreadResult {
  const text = compareContents({ before, after }, { maxSteps, hunks: patch });
  return {
    text: text && { ...text, hunks: Buffer.from(text.hunks, 'latin1') },
    blobIds: patch ? { before: gitBlobId(before), after: gitBlobId(after) } : undefined,
  };
}

function say(message: FromThread): void {
  port.postMessage(message);
}
