/** The thread's side of job-thread.ts: a program calls it once. */
import { parentPort } from 'node:worker_threads';
import type { JobAnswer } from './job-thread.ts';

export function answerJobs<Question, Answer>(answer: (question: Question) => Answer): void {
  const port = parentPort!;
  const tell = (message: JobAnswer): void => port.postMessage(message);
  port.on('message', ({ id, question }: { id: number; question: Question }) => {
    try {
      tell({ id, answer: answer(question) });
    } catch (error) {
      tell({ id, failed: (error as Error).message });
    }
  });
}
