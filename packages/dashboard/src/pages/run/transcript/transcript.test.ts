import type { RunEvent } from '@talaria/client';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Row } from './rows.ts';
import { Transcript } from './transcript.ts';

type Fields = { event: string } & Record<string, unknown>;

const numbered = (events: Fields[]): RunEvent[] =>
  events.map(
    (event, seq) => ({ run_id: 'run_1', timestamp: 100 + seq, seq, ...event }) as unknown as RunEvent,
  );

const say = (delta: string) => ({ event: 'message.delta', delta });
const start = (id: string, tool = 'terminal') => ({
  event: 'tool.started',
  tool,
  tool_call_id: id,
  preview: id,
  arguments: {},
});
const complete = (id: string) => ({
  event: 'tool.completed',
  tool: 'terminal',
  tool_call_id: id,
  duration: 1,
  error: false,
  preview: 'out',
});
const stepDone = (step: number) => ({
  event: 'step.completed',
  step,
  duration: 2,
  usage: { total_tokens: 7 },
  finish_reason: 'stop',
});
const ask = (id: string) => ({ event: 'approval.request', request_id: id, tool_call_id: 'a' });
const answered = (id: string) => ({
  event: 'approval.responded',
  request_id: id,
  choice: 'once',
  resolved: 1,
});
const end = { event: 'run.completed', output: 'x', usage: {} };

function fold(events: Fields[]): Transcript {
  const transcript = new Transcript();
  transcript.add(numbered(events));
  return transcript;
}

/** One word per row. */
const outline = ({ rows }: Transcript) =>
  rows.map((row) => {
    if (row.kind === 'step') return `step ${row.number}${row.cutOff ? ' cut off' : ''}`;
    if (row.kind === 'text') return `${row.taken ? '~' : ''}${row.block.text}${row.block.unfinished}`.trim();
    if (row.kind === 'tool') return `${row.started.tool_call_id}${row.completed === undefined ? '…' : ''}`;
    return row.kind;
  });

describe('steps', () => {
  test('are known where the server tells their end', () => {
    const events = [
      say('a'),
      stepDone(1),
      start('a'),
      start('b'),
      complete('a'),
      complete('b'),
      stepDone(2),
      start('c'),
    ];
    expect(outline(fold(events))).toEqual(['step 1', 'a', 'a', 'b', 'step 2', 'c…']);
    expect(fold(events).rows[0]).toMatchObject({ facts: { duration: 2, usage: { total_tokens: 7 } } });
  });

  test('hold the answer that the server checked after their end', () => {
    const events = [stepDone(1), stepDone(2), say('{"a": 1}'), end];
    expect(outline(fold(events))).toEqual(['step 1', 'step 2', '{"a": 1}', 'end']);
  });

  test('end with steering after an answer', () => {
    const steered = { event: 'run.steered', input: 'left' };
    const events = [say('one'), stepDone(1), steered, say('two'), stepDone(2), end];
    expect(outline(fold(events))).toEqual(['step 1', 'one', 'note', 'step 2', 'two', 'end']);
  });

  test('keep the number that the server counts where the events before them were not read', () => {
    const tail = new Transcript(3);
    tail.add(
      numbered([
        say(''),
        say(''),
        say(''),
        say(''),
        say('x'),
        stepDone(7),
        start('a'),
        complete('a'),
        say('y'),
      ]).slice(4),
    );
    expect(outline(tail)).toEqual(['step 7', 'x', 'a', 'step 8', 'y']);
  });

  test('are guessed where it does not', () => {
    const events = [say('one'), start('a'), complete('a'), start('b'), complete('b'), say('two'), end];
    expect(outline(fold(events))).toEqual(['step 1', 'one', 'a', 'step 2', 'b', 'step 3', 'two', 'end']);
  });

  test('have no number where the events before them were not read', () => {
    const tail = new Transcript(4);
    tail.add(numbered([say('1'), say('2'), say('3'), say('4'), say('5'), say('x')]).slice(5));
    expect(tail.rows[0]).toMatchObject({ kind: 'step', number: undefined });
    expect(tail.lastSeq).toBe(5);
    expect(tail.eventAt(5)).toMatchObject({ delta: 'x' });
  });
});

describe('a restart', () => {
  const resumed = (from?: number) => ({ event: 'run.resumed', discard_from_seq: from });

  test('marks what is repeated, and keeps the number of the step', () => {
    const events = [
      say('first'),
      start('a'),
      complete('a'),
      { event: 'reasoning.available', text: 'hm' },
      say('half an ans'),
      resumed(3),
      say('half an answer'),
      end,
    ];
    const model = fold(events);
    expect(outline(model)).toEqual([
      'step 1',
      'first',
      'a',
      'step 2 cut off',
      'reasoning',
      '~half an ans',
      'note',
      'step 2',
      'half an answer',
      'end',
    ]);
    expect(model.rows[4]).toMatchObject({ taken: true });
    expect(model.steps).toBe(2);
  });

  test('takes back only the later of two texts that nothing separates', () => {
    const model = fold([say('kept '), say('too'), say('gone'), resumed(2), say('again')]);
    expect(outline(model)).toEqual(['step 1', 'kept too', '~gone', 'note', 'again']);
  });

  test('without anything to discard only leaves a note', () => {
    expect(outline(fold([say('a'), start('x'), resumed(), complete('x')]))).toEqual([
      'step 1',
      'a',
      'x',
      'note',
    ]);
  });
});

describe('questions', () => {
  test('wait until they are answered or the run has ended', () => {
    const model = fold([start('a'), ask('q1'), ask('q2'), answered('q1')]);
    expect(model.pending.map(({ request }) => request.request_id)).toEqual(['q2']);
    expect(fold([start('a'), ask('q1'), end]).pending).toEqual([]);
  });
});

describe('places', () => {
  test('every event has a row: the end of a call is in the row of the call', () => {
    const model = fold([say('a'), start('x'), start('y'), complete('x'), complete('y'), say('b'), end]);
    const shown = model.events.map(({ seq }) => model.rows[model.rowIndexOf(seq)]!.key);
    expect(shown).toEqual(['0.0', '1', '2', '1', '2', '5.0', '6']);
  });
});

const anyEvent: fc.Arbitrary<Fields> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('word ', 'line\n', '\n\n', '```\n', '- x').map(say) },
  fc.constantFrom('a', 'b', 'c').map((id) => start(id)),
  fc.constantFrom('a', 'b', 'c').map(complete),
  fc.integer({ min: 1, max: 9 }).map(stepDone),
  fc.constantFrom('q', 'r').map(ask),
  fc.constantFrom('q', 'r').map(answered),
  fc.constant({ event: 'reasoning.available', text: 'hm' }),
  fc.constant({ event: 'run.steered', input: 'left' }),
  fc.option(fc.nat(40), { nil: undefined }).map((from) => ({ event: 'run.resumed', discard_from_seq: from })),
  fc.constant({ event: 'of.a.later.version' }),
);

/** No cursor of the server points behind its own event. */
const valid = (events: Fields[]): Fields[] =>
  events.filter(({ discard_from_seq: from }, seq) => from === undefined || (from as number) < seq);

describe('any run', () => {
  test('folds to the same rows in any batches', () => {
    fc.assert(
      fc.property(
        fc.array(anyEvent, { maxLength: 60 }).map(valid),
        fc.infiniteStream(fc.nat(7)),
        (events, sizes) => {
          const whole = fold(events);
          const parts = new Transcript();
          const all = numbered(events);
          for (let from = 0; from < all.length; ) {
            const size = (sizes.next().value as number) + 1;
            parts.add(all.slice(from, from + size));
            from += size;
          }
          expect(parts.rows).toEqual(whole.rows);
          expect(parts.phases.list).toEqual(whole.phases.list);
        },
      ),
    );
  });

  test('has its rows in the order of their events, with a key each', () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 60 }).map(valid), (events) => {
        const { rows } = fold(events);
        const seqs = rows.map(({ seq }) => seq);
        expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
        expect(new Set(rows.map(({ key }) => key)).size).toBe(rows.length);
      }),
    );
  });

  test('shows the text that counts once, and what was taken back marked', () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 60 }).map(valid), (events) => {
        const all = numbered(events);
        const taken = new Set<number>();
        for (const event of all) {
          if (event.event !== 'run.resumed' || event.discard_from_seq === undefined) continue;
          for (const { seq } of all.slice(event.discard_from_seq, event.seq)) taken.add(seq);
        }
        const said = (which: boolean) =>
          all.map((e) => (e.event === 'message.delta' && taken.has(e.seq) === which ? e.delta : '')).join('');
        const { rows } = fold(events);
        const shown = (which: boolean) => rows.filter((row) => row.kind === 'text' && row.taken === which);
        for (const which of [true, false]) expect(letters(shown(which))).toBe(wordsOf(said(which)));
      }),
    );
  });
});

/** Fences are not shown, and lines may be cut elsewhere: compared is what remains. */
const wordsOf = (text: string) => text.replaceAll('```', '').replace(/\s+/g, '');
const letters = (rows: Row[]) =>
  wordsOf(rows.map((row) => (row.kind === 'text' ? row.block.text + row.block.unfinished : '')).join(''));

test('an event belongs to the step that began last before it', () => {
  const running = [say('One.'), stepDone(1), start('a'), complete('a'), say('Two.')];
  const transcript = fold(running);
  const first = { number: 1, first: 0, last: 3, isOver: true };
  expect([0, 3].map((seq) => transcript.stepAt(seq))).toEqual([first, first]);
  expect(transcript.stepAt(4)).toEqual({ number: 2, first: 4, last: 4, isOver: false });
  expect(fold([...running, stepDone(2), end]).stepAt(9)).toEqual({
    number: 2,
    first: 4,
    last: 6,
    isOver: true,
  });
  expect(fold([]).stepAt(0)).toBeUndefined();
  expect(fold([{ event: 'run.steered', input: 'x' }]).stepAt(0)).toBeUndefined();
});
