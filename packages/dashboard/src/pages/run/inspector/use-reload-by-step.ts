/** Loads something again whenever the run has made a step or has ended: both may have changed its files. */
import { useEffect, useRef } from 'preact/hooks';
import type { Resource } from '../../../api/resource.ts';
import { useRunView } from '../run-view.ts';

/** Does not reload while an earlier event is shown: its files stay as they were. */
export function useReloadByStep(resource: Resource<unknown>, isOfNow: boolean): void {
  const { transcript, revision } = useRunView().watched;
  revision.value;
  const { steps, end } = transcript.value;
  const mark = end === undefined ? steps : -1;
  const seen = useRef(mark);
  useEffect(() => {
    if (seen.current === mark) return;
    seen.current = mark;
    if (isOfNow) resource.reload();
  }, [mark, isOfNow]);
}
