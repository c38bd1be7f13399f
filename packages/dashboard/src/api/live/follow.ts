/** Reads runs and questions from the server into the state. */
import { APIError, type Run, type Talaria } from '@talaria/client';
import { withHeads } from './heads.ts';
import { questionsOf, SETTLED_MS, withAnswers, withPending } from './questions.ts';
import { heads, questions, questionsKnown } from './state.ts';

/** The newest runs, and all that are at work: what the page shows first. */
const NEWEST = 50;
const ACTIVE = ['started', 'running', 'waiting_for_approval', 'waiting_for_tool', 'stopping'] as const;

export async function readRuns(client: Talaria, signal: AbortSignal): Promise<void> {
  const options = { signal, maxRetries: 0 };
  const newest = await client.runs.list({ view: 'head', limit: NEWEST }, options);
  const active: Run[] = [];
  if (newest.has_more) {
    for await (const run of client.runs.list({ view: 'head', status: ACTIVE, limit: 200 }, options)) {
      active.push(run);
    }
  }
  heads.value = withHeads(heads.peek(), [...newest.data, ...active]);
}

export async function readQuestions(client: Talaria, signal: AbortSignal): Promise<void> {
  const before = questions.peek();
  const pending = await pendingOf(client, signal);
  questions.value = withPending(questions.peek(), pending, Date.now());
  questionsKnown.value = true;
  dropSettledLater();
  const settled = questions
    .peek()
    .some(({ approval, settledAt }) => settledAt !== undefined && approval.status === 'pending');
  if (!settled || questions.peek() === before) return;
  const answered = await client.approvals.list({ status: 'answered' }, { signal, maxRetries: 0 });
  questions.value = withAnswers(questions.peek(), answered.data);
}

async function pendingOf(client: Talaria, signal: AbortSignal) {
  try {
    const list = await client.approvals.list({ status: 'pending', limit: 200 }, { signal, maxRetries: 0 });
    return list.data;
  } catch (error) {
    if (isMissing(error)) return questionsOf(heads.peek().values());
    throw error;
  }
}

let dropping: ReturnType<typeof setTimeout> | undefined;

/** Settled questions leave by themselves, also when nothing else happens. */
function dropSettledLater(): void {
  clearTimeout(dropping);
  if (questions.peek().every(({ settledAt }) => settledAt === undefined)) return;
  dropping = setTimeout(() => {
    const waiting = questions.peek().filter(({ settledAt }) => settledAt === undefined);
    questions.value = withPending(
      questions.peek(),
      waiting.map(({ approval }) => approval),
      Date.now(),
    );
    dropSettledLater();
  }, SETTLED_MS);
}

/** A server that does not have this route: an older one, or another that speaks the same protocol. */
export function isMissing(error: unknown): boolean {
  return error instanceof APIError && (error.status === 404 || error.status === 405);
}
