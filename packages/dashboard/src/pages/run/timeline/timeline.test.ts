import type { RunEvent } from '@talaria/client';
import { describe, expect, test } from 'vitest';
import { layOut, placeOf, seqAt } from './layout.ts';
import { Phases } from './phases.ts';

type Told = [at: number, event: string, fields?: object];

function phasesOf(...told: Told[]) {
  const phases = new Phases();
  told.forEach(([timestamp, event, fields], seq) => {
    phases.add({ event, timestamp, seq, run_id: 'run_1', ...fields } as unknown as RunEvent);
  });
  return phases.list;
}

const call = { tool_call_id: 'a' };
const question = { request_id: 'q' };
const RUN: Told[] = [
  [0, 'message.delta'],
  [2, 'message.delta'],
  [4, 'tool.started', call],
  [5, 'approval.request', question],
  [7205, 'approval.responded', question],
  [7210, 'tool.completed', call],
  [7220, 'run.completed'],
];

describe('the time of a run', () => {
  test('belongs to what was going on', () => {
    expect(phasesOf(...RUN).map(({ kind, from, to }) => [kind, from, to])).toEqual([
      ['model', 0, 4],
      ['tool', 4, 5],
      ['waiting', 5, 7205],
      ['tool', 7205, 7210],
      ['model', 7210, 7220],
    ]);
  });

  test('until a run is resumed belongs to nobody', () => {
    const phases = phasesOf(
      [0, 'message.delta'],
      [1, 'message.delta'],
      [61, 'run.resumed'],
      [62, 'message.delta'],
    );
    expect(phases.map(({ kind }) => kind)).toEqual(['model', 'away', 'model']);
  });

  test('never runs backwards, whatever the clocks of two servers say', () => {
    const phases = phasesOf([10, 'message.delta'], [12, 'tool.started', call], [5, 'tool.completed', call]);
    expect(phases.every(({ from, to }) => to >= from)).toBe(true);
  });
});

describe('the line', () => {
  const placed = layOut(phasesOf(...RUN));

  test('is filled without gaps', () => {
    expect(placed[0]?.start).toBe(0);
    expect(placed.at(-1)?.end).toBe(1);
    for (const [index, { start }] of placed.entries()) {
      if (index > 0) expect(start).toBe(placed[index - 1]!.end);
    }
  });

  test('folds two hours of waiting, so that the rest can be seen', () => {
    const waiting = placed.find(({ kind }) => kind === 'waiting')!;
    expect(waiting.folded).toBe(true);
    expect(waiting.end - waiting.start).toBeLessThan(0.07);
  });

  test('leads from a place to an event and back', () => {
    expect(seqAt(placed, 0)).toBe(0);
    expect(seqAt(placed, 1)).toBe(6);
    for (const seq of [0, 2, 3, 4, 5, 6]) expect(seqAt(placed, placeOf(placed, seq))).toBe(seq);
    expect(seqAt([], 0.5)).toBe(0);
  });
});
