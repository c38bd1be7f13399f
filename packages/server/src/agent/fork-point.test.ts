import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Message, ToolCallPart } from '../journal/messages.ts';
import type { LogRecord, NewRecord } from '../journal/records.ts';
import {
  claimedRecord,
  contextCut,
  delta,
  failed,
  numbered,
  privateStep,
  resumed,
  completed as runCompleted,
  steerRequested,
  stepRecord,
} from '../journal/testing/records.ts';
import { beforeFailedAnswer, forkPoint } from './fork-point.ts';
import { Progress } from './progress.ts';

const accepted: NewRecord = { event: 'run.accepted', private: { prompt: 'go', session_named: false } };
const call = (id: string): ToolCallPart => ({ type: 'tool_call', id, tool: 'terminal', arguments: '{}' });
const step = (...ids: string[]) => stepRecord(ids.map(call), undefined, 'tool_calls');
const answer = (text = 'answer') => stepRecord([{ type: 'text', text }]);
const started = (id: string): NewRecord => ({
  event: 'tool.started',
  public: { tool: 'terminal', preview: '', tool_call_id: id, arguments: {} },
  private: { gated: false },
});
const completed = (id: string): NewRecord => ({
  event: 'tool.completed',
  public: { tool: 'terminal', duration: 0, error: false, preview: '', tool_call_id: id },
  private: { output: `output of ${id}` },
});
const steered = (steer_pos: number): NewRecord => ({
  event: 'run.steered',
  public: { input: 'left' },
  private: { steer_pos },
});
const noticed: NewRecord = { event: 'run.noticed', private: { text: 'restarted' } };
const refused: NewRecord = { event: 'answer.refused', private: { problem: 'no JSON' } };

/** What the fork at this event inherits, in short. */
function inherits(records: readonly NewRecord[], seq: number): string[] {
  return forkPoint(numbered(records), seq).progress.sincePrompt().map(inShort);
}

function inShort(message: Message): string {
  if (message.role === 'tool') return message.output;
  if (typeof message.content === 'string') return message.content;
  return message.content.map((part) => (part.type === 'tool_call' ? `call ${part.id}` : part.type)).join(' ');
}

describe('a fork', () => {
  const log = [
    accepted,
    claimedRecord(),
    delta(), // 0
    step('a'), // 1
    started('a'), // 2
    completed('a'), // 3
    delta(), // 4
    step('b', 'c'), // 5
    started('b'), // 6
    started('c'), // 7
    completed('b'), // 8
    completed('c'), // 9
    answer(), // 10
    runCompleted(), // 11
  ];

  test('before the outcomes of the first step has just the prompt', () => {
    for (const seq of [-1, 0, 1, 2]) expect(inherits(log, seq)).toEqual([]);
  });

  test('has a step when all its calls have outcomes, and until then nothing of it', () => {
    const first = ['call a', 'output of a'];
    for (const seq of [3, 4, 5, 6, 7, 8]) expect(inherits(log, seq)).toEqual(first);
    expect(inherits(log, 9)).toEqual([...first, 'call b call c', 'output of b', 'output of c']);
  });

  test('after the answer ends with it', () => {
    for (const seq of [10, 11]) {
      expect(inherits(log, seq).at(-1)).toBe('text');
      expect(forkPoint(numbered(log), seq).progress.answer).toBeDefined();
    }
  });

  test('is taken at the last record that counts', () => {
    const positions = [-1, 0, 1, 2, 3, 4, 5, 8, 9, 11].map((seq) => forkPoint(numbered(log), seq).pos);
    // The record before the step that is cut, or before the next event.
    expect(positions).toEqual([1, 2, 2, 2, 5, 6, 6, 6, 11, 13]);
  });

  test('has what was recorded between its event and the next one', () => {
    const restarted = [accepted, step('a'), started('a'), completed('a'), resumed(), noticed, answer()];
    expect(inherits(restarted, 2)).toEqual(['call a', 'output of a']);
    expect(inherits(restarted, 3)).toEqual(['call a', 'output of a', 'restarted']);
    expect(inherits([accepted, answer(), refused, answer()], 0)).toEqual(['text', 'no JSON']);
  });

  test('has steering that the model received, and none that it did not', () => {
    const told = [accepted, answer(), steerRequested('go left'), steered(2), answer()];
    expect(inherits(told.slice(0, 3), 0)).toEqual(['text']);
    expect(inherits(told, 1)).toEqual(['text', 'go left']);
  });

  test('has the terms and the cut of that time', () => {
    const terms = { instructions: 'Be C.' };
    const log = numbered([
      accepted,
      contextCut(1),
      step('a'), // 0
      started('a'), // 1
      { event: 'tool.answered', private: { tool_call_id: 'a', output: 'x', error: false, terms } },
      completed('a'), // 2
      contextCut(2),
      answer(), // 3
    ]);
    const at = (seq: number) => {
      const { request, lastCut } = forkPoint(log, seq).progress;
      return [request?.instructions, lastCut?.before];
    };
    expect(at(1)).toEqual([undefined, 1]);
    expect(at(2)).toEqual(['Be C.', 2]);
  });

  test('of a run of an earlier version, whose steps were no events, is the same', () => {
    const older = log.map(privateStep);
    expect(inherits(older, 2)).toEqual(['call a', 'output of a']);
    expect(inherits(older, 6)).toEqual(['call a', 'output of a']);
    expect(inherits(older, 7)).toHaveLength(6);
  });
});

describe('the answer that a run failed with', () => {
  const broken = [accepted, step('a'), started('a'), completed('a'), answer(), failed()];

  function retried(records: readonly NewRecord[], seq: number): string[] | undefined {
    const log = numbered(records);
    return beforeFailedAnswer(log, forkPoint(log, seq))?.progress.sincePrompt().map(inShort);
  }

  test('can be left out, so that the model answers again', () => {
    for (const seq of [3, 4]) expect(retried(broken, seq)).toEqual(['call a', 'output of a']);
    const log = numbered(broken);
    expect(beforeFailedAnswer(log, forkPoint(log, 4))?.pos).toBe(3);
  });

  test('is no answer of a run that completed, is under way, or failed with another', () => {
    expect(retried([...broken.slice(0, -1), runCompleted()], 4)).toBeUndefined();
    expect(retried(broken.slice(0, -1), 3)).toBeUndefined();
    expect(
      retried([accepted, answer(), steerRequested(), steered(2), answer(), failed()], 0),
    ).toBeUndefined();
  });

  test('is not needed where the conversation does not end with an answer', () => {
    expect(retried(broken, 2)).toBeUndefined();
    expect(retried([accepted, step('a'), started('a'), failed()], 2)).toBeUndefined();
  });
});

describe('for every log and event', () => {
  const anytime = fc.constantFrom(noticed, steerRequested(), resumed(), claimedRecord());
  const betweenSteps = fc.oneof(
    anytime,
    fc.nat({ max: 20 }).map(steered),
    fc.constantFrom(delta(), contextCut(1)),
  );
  /** A step, and what is recorded until the next one can begin. */
  const rounds: fc.Arbitrary<NewRecord[]> = fc.oneof(
    fc
      .tuple(fc.array(betweenSteps, { maxLength: 3 }), fc.constantFrom(refused, steered(1)))
      .map(([before, next]) => [...before, answer(), next]),
    fc
      .tuple(
        fc.array(betweenSteps, { maxLength: 3 }),
        fc.uniqueArray(fc.uuid(), { minLength: 1, maxLength: 3 }),
        fc.array(anytime, { maxLength: 3 }),
      )
      .chain(([before, ids, during]) =>
        fc
          .shuffledSubarray([...ids.map(completed), ...during], { minLength: ids.length + during.length })
          .map((outcomes) => [...before, step(...ids), ...ids.map(started), ...outcomes]),
      ),
  );
  /** A run that may be cut off anywhere. */
  const logs = fc
    .tuple(fc.array(rounds, { maxLength: 6 }), fc.nat({ max: 60 }))
    .map(([all, length]) => numbered([accepted, ...all.flat().slice(0, length)]));
  const seqs = fc.integer({ min: -1, max: 40 });
  const isIn = (pos: number) => (record: LogRecord) => record.pos <= pos;

  test('the fork is the run as it was at some record, and every call has its result', () => {
    fc.assert(
      fc.property(logs, seqs, (log, seq) => {
        const { pos, progress } = forkPoint(log, seq);
        expect(progress).toEqual(Progress.replay(log.filter(isIn(pos))));
        expect(progress.calls).toEqual([]);
        const open = new Set<string>();
        for (const message of progress.sincePrompt()) {
          if (message.role === 'tool') expect(open.delete(message.tool_call_id)).toBe(true);
          else expect(open.size).toBe(0);
          if (message.role !== 'assistant') continue;
          for (const part of message.content) if (part.type === 'tool_call') open.add(part.id);
        }
        expect(open.size).toBe(0);
      }),
    );
  });

  test('it is the last such record before the next event', () => {
    fc.assert(
      fc.property(logs, seqs, (log, seq) => {
        const { pos } = forkPoint(log, seq);
        const next = log.find((record) => record.seq !== null && record.seq > seq)?.pos ?? log.length;
        expect(pos).toBeLessThan(next);
        for (let later = pos + 1; later < next; later += 1) {
          expect(Progress.replay(log.filter(isIn(later))).calls).not.toEqual([]);
        }
      }),
    );
  });

  test('a fork at a later event continues the conversation of one at an earlier event', () => {
    fc.assert(
      fc.property(logs, seqs, seqs, (log, a, b) => {
        const [earlier, later] = [forkPoint(log, Math.min(a, b)), forkPoint(log, Math.max(a, b))];
        const said = earlier.progress.sincePrompt();
        expect(later.pos).toBeGreaterThanOrEqual(earlier.pos);
        expect(later.progress.sincePrompt().slice(0, said.length)).toEqual(said);
      }),
    );
  });

  test('text deltas, which are not read, change nothing unless one is the next event', () => {
    fc.assert(
      fc.property(logs, seqs, (log, seq) => {
        const next = log.find((record) => record.seq !== null && record.seq > seq);
        fc.pre(next?.event !== 'message.delta');
        const read = log.filter(({ event }) => event !== 'message.delta');
        expect(forkPoint(read, seq).progress.sincePrompt()).toEqual(
          forkPoint(log, seq).progress.sincePrompt(),
        );
      }),
    );
  });

  test('what happens after the event changes nothing', () => {
    fc.assert(
      fc.property(logs, seqs, (log, seq) => {
        const next = log.findIndex((record) => record.seq !== null && record.seq > seq);
        expect(forkPoint(next === -1 ? log : log.slice(0, next), seq)).toEqual(forkPoint(log, seq));
      }),
    );
  });
});
