/** Below a call: what its step changed in the files, and a way to the lines. */

import { isMissing } from '../../../api/live/follow.ts';
import { useResource } from '../../../api/resource.ts';
import { Loading } from '../../../ui/loading.tsx';
import { useRunView } from '../run-view.ts';
import type { StepSpan } from '../transcript/rows.ts';
import { changesOf } from './changed-files.ts';
import { ChangeLine, Total } from './changes.tsx';
import { isNotKept } from './not-kept.tsx';

const LISTED = 8;

export function StepChanges({ callId }: { callId: string }) {
  const { watched } = useRunView();
  watched.revision.value;
  const { transcript } = watched;
  const call = transcript.value.callRow(callId);
  const step = call === undefined ? undefined : transcript.value.stepAt(call.seq);
  // The files of a step are kept when its last call is complete.
  if (step === undefined || !step.isOver) return null;
  return <ChangesOf key={step.first} step={step} />;
}

function ChangesOf({ step: { number, first, last } }: { step: StepSpan }) {
  const { runId, inspectChanges } = useRunView();
  const diff = useResource(
    async (user, signal) => {
      const { data, truncated } = await user.runs.diff(runId, { from: first - 1, to: last }, { signal });
      return { changes: changesOf(data), truncated };
    },
    [runId, first, last],
  );
  // Where the server keeps no files, the call has nothing to say about them.
  if (isNotKept(diff) || isMissing(diff.state.value.error)) return null;
  return (
    <Loading of={diff}>
      {({ changes, truncated }) =>
        changes.length === 0 ? null : (
          <section aria-label="Changed files" class="step-changes">
            <h3>
              Changed by {number === undefined ? 'this step' : `step ${number}`}{' '}
              <Total changes={changes} truncated={truncated} />
            </h3>
            <ul>
              {changes.slice(0, LISTED).map((change) => (
                <li key={change.path} class="change">
                  <ChangeLine change={change} />
                </li>
              ))}
            </ul>
            <button type="button" class="small" onClick={() => inspectChanges(last)}>
              Show the changes
            </button>
          </section>
        )
      }
    </Loading>
  );
}
