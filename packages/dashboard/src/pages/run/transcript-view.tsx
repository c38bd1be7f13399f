/** The transcript: its rows, and a way back to the end for a reader who has left it. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { LongText } from '../../ui/long-text.tsx';
import { RowView } from './rows/row-view.tsx';
import { useRunView } from './run-view.ts';
import type { Row } from './transcript/rows.ts';
import { type RowList, VirtualRows } from './virtual-rows.tsx';

export function TranscriptView() {
  const { watched, target } = useRunView();
  const { transcript, revision, run, partial } = watched;
  revision.value;
  const { rows } = transcript.value;
  const list = useRef<RowList>(undefined);
  const atEnd = useSignal(true);
  /** How many rows there were when the reader left the end. */
  const seen = useSignal(0);
  const arrived = useRef(-1);

  // A link to an event waits until the event is there; the list then stays where the reader goes from there.
  useEffect(() => {
    const wanted = target.value;
    if (wanted === undefined || arrived.current === wanted.at || partial.value) return;
    if (transcript.value.lastSeq < wanted.seq) return;
    arrived.current = wanted.at;
    atEnd.value = false;
    seen.value = rows.length;
    list.current?.toRow(transcript.value.rowIndexOf(wanted.seq) + 1);
  });

  const waits = target.value !== undefined && arrived.current !== target.value.at;
  const news = rows.length - seen.value;
  return (
    <div class="transcript">
      <h2 class="visually-hidden">Transcript</h2>
      {partial.value && (
        <p class="muted partial" role="status">
          Showing the end; the rest is being read…
        </p>
      )}
      <VirtualRows
        label="Transcript"
        count={rows.length + 1}
        keyOf={(index) => (index === 0 ? 'prompt' : rows[index - 1]!.key)}
        estimate={(index) => (index === 0 ? promptHeight(run.value?.input) : estimate(rows[index - 1]!))}
        follow={atEnd.value && !waits}
        onEnd={(now) => {
          if (now === atEnd.peek()) return;
          atEnd.value = now;
          seen.value = transcript.peek().rows.length;
        }}
        handle={(handle) => {
          list.current = handle;
        }}
      >
        {(index) =>
          index === 0 ? <Prompt text={run.value?.input} /> : <RowView row={rows[index - 1]!} index={index} />
        }
      </VirtualRows>
      {!atEnd.value && (
        <button type="button" class="to-end" onClick={() => list.current?.toEnd()}>
          ▼ {news > 0 ? `${news} new` : 'To the end'}
        </button>
      )}
    </div>
  );
}

function Prompt({ text }: { text: string | undefined }) {
  if (text === undefined) return null;
  return (
    <div class="prompt">
      <h3>You</h3>
      <p dir="auto">
        <LongText text={text} />
        {text.length >= SHOWN_CHARACTERS && <span class="muted"> …</span>}
      </p>
    </div>
  );
}

/** The head of a run has the beginning of its prompt. */
const SHOWN_CHARACTERS = 500;

function promptHeight(text = ''): number {
  return 40 + Math.min(text.trim().split('\n').length, 14) * 22;
}

function estimate(row: Row): number {
  switch (row.kind) {
    case 'text': {
      const { text, kind } = row.block;
      return kind === 'code'
        ? 60 + Math.min(text.split('\n').length, 22) * 20
        : 30 + Math.floor(text.length / 90) * 22;
    }
    case 'approval':
      return row.answer === undefined ? 220 : 140;
    case 'end':
      return 90;
    default:
      return 40;
  }
}
