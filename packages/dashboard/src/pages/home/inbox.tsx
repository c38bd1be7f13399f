/** What waits for the user, the oldest first. */
import { isMissing } from '../../api/live/follow.ts';
import { questions, questionsKnown, refreshQuestions, trouble } from '../../api/live/live.ts';
import { ApprovalCard } from '../../ui/approval/approval-card.tsx';
import { describe } from '../../ui/problem.tsx';

export function Inbox() {
  const waiting = questions.value;
  if (!questionsKnown.value && trouble.value !== undefined && !isMissing(trouble.value))
    return (
      <p class="warn" role="alert">
        It is not known yet what waits for you: {describe(trouble.value)}
      </p>
    );
  if (!questionsKnown.value || waiting.length === 0) return null;
  return (
    <section aria-labelledby="needs-you" class="inbox">
      <h2 id="needs-you">Needs you</h2>
      {waiting.map(({ approval, settledAt }) => (
        <ApprovalCard
          key={approval.request_id}
          question={approval}
          run={approval.run}
          settled={settledAt !== undefined}
          onSettled={() => void refreshQuestions()}
        />
      ))}
    </section>
  );
}
