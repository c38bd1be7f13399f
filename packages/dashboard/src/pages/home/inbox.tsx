/** What waits for the user, the oldest first. */
import { questions, questionsKnown, refreshQuestions } from '../../api/live/live.ts';
import { ApprovalCard } from '../../ui/approval/approval-card.tsx';

export function Inbox() {
  const waiting = questions.value;
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
