/** The state of a run: a sign, a word and a colour, so that none of them is needed alone. */
import type { RunStatus } from '@talaria/client';

const SIGNS: Record<RunStatus, [sign: string, word: string, kind: string]> = {
  started: ['◌', 'queued', 'muted'],
  running: ['●', 'running', 'accent'],
  waiting_for_approval: ['⚠', 'needs approval', 'warn'],
  waiting_for_tool: ['◔', 'waits for a tool', 'warn'],
  stopping: ['◍', 'stopping', 'muted'],
  completed: ['✔', 'done', 'good'],
  failed: ['✖', 'failed', 'bad'],
  cancelled: ['■', 'stopped', 'muted'],
};

export function Status({ status }: { status: RunStatus }) {
  // Another server may have states that this page does not know.
  const [sign, word, kind] = SIGNS[status] ?? ['·', status, 'muted'];
  return (
    <span class={`status ${kind}`}>
      <span aria-hidden="true">{sign}</span>
      {word}
    </span>
  );
}

export function statusName(status: RunStatus): string {
  return SIGNS[status]?.[1] ?? status;
}
