/**
 * The questions that wait for somebody, and for a while those that were just settled: a card that disappears under the
 * finger says nothing about who answered, and moves the next one into its place.
 */
import type { Approval, Run } from '@talaria/client';

/** How long a settled question stays on the page. */
export const SETTLED_MS = 15_000;

export interface Question {
  approval: Approval;
  /** When it was seen to be settled, in ms; absent while it waits. */
  settledAt?: number;
}

/** `pending` is what the server says now. What was there before and is missing now was settled in between. */
export function withPending(
  questions: readonly Question[],
  pending: readonly Approval[],
  now: number,
): readonly Question[] {
  const waiting = new Map(pending.map((approval) => [approval.request_id, approval]));
  const next: Question[] = [];
  for (const question of questions) {
    const { approval, settledAt } = question;
    if (waiting.delete(approval.request_id)) next.push(settledAt === undefined ? question : { approval });
    else if (settledAt === undefined) next.push({ approval, settledAt: now });
    else if (now - settledAt < SETTLED_MS) next.push(question);
  }
  // The oldest question comes first, so that a new one never pushes another from its place.
  const added = [...waiting.values()].reverse().map((approval) => ({ approval }));
  return added.length === 0 && sameAs(questions, next) ? questions : [...next, ...added];
}

/** Adds who answered what. */
export function withAnswers(
  questions: readonly Question[],
  answered: readonly Approval[],
): readonly Question[] {
  const answers = new Map(answered.map((approval) => [approval.request_id, approval]));
  return questions.map((question) => {
    const answer = answers.get(question.approval.request_id);
    return answer === undefined || question.settledAt === undefined
      ? question
      : { ...question, approval: answer };
  });
}

/** For servers without `/v1/approvals`: a run that waits shows its first question. */
export function questionsOf(runs: Iterable<Run>): Approval[] {
  const asked: Approval[] = [];
  for (const run of runs) {
    if (run.approval === undefined || run.status !== 'waiting_for_approval') continue;
    asked.push({ ...run.approval, object: 'hermes.approval', status: 'pending', run });
  }
  return asked;
}

function sameAs(a: readonly Question[], b: readonly Question[]): boolean {
  return a.length === b.length && a.every((question, index) => question === b[index]);
}
