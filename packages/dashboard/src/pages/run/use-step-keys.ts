/** `,` and `.` go to the step before and after. */
import { useEffect } from 'preact/hooks';
import type { RunView } from './run-view.ts';

export function useStepKeys({ watched, target, goTo }: RunView): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const writing = event.target instanceof Element && event.target.matches('input, textarea, select');
      if (writing || event.metaKey || event.ctrlKey || event.altKey) return;
      if (event.key !== ',' && event.key !== '.') return;
      const { rows, lastSeq } = watched.transcript.peek();
      const at = target.peek()?.seq ?? lastSeq;
      const steps = rows.filter(({ kind }) => kind === 'step');
      const step =
        event.key === ',' ? steps.findLast(({ seq }) => seq < at) : steps.find(({ seq }) => seq > at);
      if (step !== undefined) goTo(step.seq);
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, [watched]);
}
