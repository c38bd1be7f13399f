import { count } from '../../../ui/format.ts';
import { useRevision } from '../run-view.ts';
import { seconds } from '../seconds.ts';
import type { StepRow } from '../transcript/rows.ts';
import { EventLink } from './event-link.tsx';

export function StepHead({ row }: { row: StepRow }) {
  useRevision();
  const { number, facts, cutOff, seq } = row;
  const { duration, usage, finish_reason } = facts;
  const parts = [
    duration === undefined ? '' : seconds(duration),
    usage?.total_tokens === undefined ? '' : `${count(usage.total_tokens)} tokens`,
    // The usual ends are what the rows below show.
    finish_reason === undefined || ['stop', 'tool_calls', 'tool-calls'].includes(finish_reason)
      ? ''
      : `ended by ${finish_reason}`,
  ];
  return (
    <h3 class="step-head">
      <span>Step{number === undefined ? '' : ` ${number}`}</span>
      {cutOff && <span class="warn"> · cut off by a restart, repeated below</span>}
      <span class="muted facts">{parts.filter(Boolean).join(' · ')}</span>
      <EventLink seq={seq} />
    </h3>
  );
}
