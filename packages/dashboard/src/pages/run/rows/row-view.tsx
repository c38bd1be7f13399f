/** One row of the transcript. */
import { useRunView } from '../run-view.ts';
import type { Row } from '../transcript/rows.ts';
import { Approval } from './approval.tsx';
import { End } from './end.tsx';
import { Note } from './note.tsx';
import { Reasoning } from './reasoning.tsx';
import { StepHead } from './step-head.tsx';
import { Text } from './text.tsx';
import { Tool } from './tool.tsx';

export function RowView({ row }: { row: Row; index: number }) {
  const { target } = useRunView();
  const isTarget = target.value !== undefined && shows(row, target.value.seq);
  return (
    <div class={`row ${row.kind} ${isTarget ? 'target' : ''}`} data-seq={row.seq}>
      {content(row)}
    </div>
  );
}

function content(row: Row) {
  switch (row.kind) {
    case 'step':
      return <StepHead row={row} />;
    case 'reasoning':
      return <Reasoning row={row} />;
    case 'text':
      return <Text row={row} />;
    case 'tool':
      return <Tool row={row} />;
    case 'approval':
      return <Approval row={row} />;
    case 'note':
      return <Note row={row} />;
    case 'end':
      return <End row={row} />;
  }
}

function shows(row: Row, seq: number): boolean {
  return row.seq === seq || (row.kind === 'tool' && row.completed?.seq === seq);
}
