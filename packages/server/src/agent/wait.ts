/**
 * How a run waits for somebody outside: for a person who approves, or for a client that runs a call. Whatever it waits for
 * is on record, so any server can continue with the answer, and the time for it is part of that record.
 *
 * While calls of the step still run, their worker waits with them. After that nothing is left to do, and the run is parked:
 * it has no worker and no slot. If something runs in the background of its sandbox, it keeps its slot, as long as this server
 * has room for that, and only gives up its place among the runs at work.
 */
import { type AgentRun, Parked } from './agent-run.ts';

/**
 * Resolves after the next post, at that time, or when one of the running calls has ended; the caller looks again. Throws
 * `Parked` if the run can wait without this server, and the reason of its signal if the run has to end.
 */
export async function waitForOutside(
  run: AgentRun,
  untilMs: number,
  running?: Promise<unknown>,
): Promise<void> {
  const { progress } = run;
  if (running !== undefined) return nextChange(run, untilMs, running);
  const inBackground = run.tools().lostWithSandbox(progress.callsSince(progress.claimedPos));
  if (inBackground.length === 0) throw new Parked(untilMs, progress.lastPostedPos);
  await run.waitWithSandbox(untilMs, (given) => nextChange(run, untilMs, given));
}

/** Listens for posts from the turn in which it is called. */
async function nextChange(run: AgentRun, untilMs: number, other: Promise<unknown>): Promise<void> {
  run.signal.throwIfAborted();
  const done = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  try {
    await Promise.race([
      run.nextPost(),
      other,
      new Promise<void>((resolve) => {
        timer = setTimeout(resolve, Math.min(Math.max(untilMs - run.now(), 0), 2 ** 31 - 1));
      }),
      new Promise<void>((resolve) => {
        run.signal.addEventListener('abort', () => resolve(), { once: true, signal: done.signal });
      }),
    ]);
  } finally {
    clearTimeout(timer);
    done.abort();
  }
  run.signal.throwIfAborted();
}
