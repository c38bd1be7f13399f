/** The answer of a run while it is written. What a resumed run sends again replaces what it had sent. */
import { type ReadonlySignal, useSignal } from '@preact/signals';
import type { RunEvent } from '@talaria/client';
import { useEffect } from 'preact/hooks';
import { followRun } from '../../api/live/follow-run.ts';
import { client, noteFailure } from '../../api/session.ts';

interface Piece {
  seq: number;
  text: string;
}

export interface Written {
  text: string;
  /** The tool that the agent is using; undefined while it writes. */
  tool: string | undefined;
}

/** The answer of one run. A component that shows another run starts anew. */
export function useAnswer(runId: string): ReadonlySignal<Written> {
  const written = useSignal<Written>({ text: '', tool: undefined });
  useEffect(() => {
    const controller = new AbortController();
    void follow(runId, controller.signal, (value) => {
      written.value = value;
    }).catch((error: unknown) => {
      if (!controller.signal.aborted) noteFailure(error);
    });
    return () => controller.abort();
  }, [runId]);
  return written;
}

async function follow(runId: string, signal: AbortSignal, show: (written: Written) => void): Promise<void> {
  let pieces: Piece[] = [];
  let text = '';
  let tool: string | undefined;
  const take = (event: RunEvent) => {
    const seq = event.seq ?? 0;
    if (event.event === 'message.delta') {
      pieces.push({ seq, text: event.delta });
      text += event.delta;
    } else if (event.event === 'run.resumed' && event.discard_from_seq !== undefined) {
      const from = event.discard_from_seq;
      pieces = pieces.filter((piece) => piece.seq < from);
      text = pieces.map((piece) => piece.text).join('');
    } else if (event.event === 'tool.started') tool = `${event.tool} ${event.preview}`;
    else if (event.event === 'tool.completed') tool = undefined;
  };
  await followRun(client.peek(), runId, {
    signal,
    onEvents: (events) => {
      for (const event of events) take(event);
      show({ text, tool });
    },
  });
}
