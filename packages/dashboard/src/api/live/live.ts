/**
 * Keeps the state of this folder up to date while somebody is signed in: `heads` (runs), `questions` (what waits for a
 * person) and `connection` (how fresh both are).
 */
import { effect, untracked } from '@preact/signals';
import type { Talaria } from '@talaria/client';
import { access, client } from '../session.ts';
import { canShareFeed, followFeed } from './feed.ts';
import { readQuestions } from './follow.ts';
import { poll } from './polling.ts';
import { connection, heads, questions, questionsKnown, trouble } from './state.ts';

export { isNewer } from './heads.ts';
export {
  type Connection,
  connection,
  heads,
  questions,
  questionsKnown,
  trouble,
  waitingCount,
} from './state.ts';

let aborted = new AbortController();

/** Begins anew for every user; the end of a session forgets what its user saw. */
export function startLive(): void {
  let followed: Talaria | undefined;
  effect(() => {
    const user = client.value;
    const refused = access.value === 'refused';
    if (!refused && user === followed) return;
    untracked(() => {
      followed = refused ? undefined : user;
      aborted.abort();
      aborted = new AbortController();
      forget();
      if (!refused) void follow(user, aborted.signal);
    });
  });
}

/** After this page answered something itself: the others learn of it by the feed. */
export async function refreshQuestions(): Promise<void> {
  await readQuestions(client.peek(), aborted.signal).catch(() => {});
}

async function follow(user: Talaria, signal: AbortSignal): Promise<void> {
  connection.value = 'connecting';
  if (canShareFeed()) await followFeed(user, signal);
  // The server has no feed, or this page may not share one.
  if (!signal.aborted) await poll(user, signal);
}

function forget(): void {
  heads.value = new Map();
  questions.value = [];
  questionsKnown.value = false;
  trouble.value = undefined;
}
