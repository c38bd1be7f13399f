import { ApprovalCard } from '../../../ui/approval/approval-card.tsx';
import { useRevision, useRunView } from '../run-view.ts';
import type { ApprovalRow } from '../transcript/rows.ts';

export function Approval({ row: { request, answer } }: { row: ApprovalRow }) {
  useRevision();
  const { runId, watched } = useRunView();
  const { run, transcript } = watched;
  const { choice, answered_by, message, reason } = answer ?? {};
  const by = reason === 'timeout' ? 'timeout' : answered_by;
  return (
    <ApprovalCard
      question={{ ...request, choice, answered_by: by, message }}
      run={run.value ?? { run_id: runId }}
      settled={answer !== undefined || transcript.value.end !== undefined}
      showRun={false}
    />
  );
}
