import { addUsage, isTerminalStatus, NO_USAGE, type RunStatus } from '@talaria/protocol';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anyText } from '../../../../test/support/any-text.ts';
import type { JournalFixture } from './journal.contract.ts';
import type { LogRecord, NewRecord } from './records.ts';
import { toState } from './rows.ts';
import {
  foldRecord,
  INITIAL_STATE,
  type RunState,
  type StoredRun,
  toWireHead,
  toWireRun,
} from './run-state.ts';
import { openTempJournal } from './sqlite/testing/temp-journal.ts';
import * as make from './testing/records.ts';

const fold = (records: readonly LogRecord[], from = INITIAL_STATE): RunState =>
  records.reduce(foldRecord, from);
const after = (...records: NewRecord[]): RunState => fold(make.numbered(records));

const claimed = make.claimedRecord();
const asked = [claimed, make.approvalRequest('a')];

const name = fc.constantFrom('a', 'b', 'c');
const names = fc.uniqueArray(name, { minLength: 1 }) as fc.Arbitrary<[string, ...string[]]>;
const used = fc.tuple(fc.nat({ max: 1000 }), fc.nat({ max: 1000 })).map(([i, o]) => make.usage(i, o));
const unfinished: fc.Arbitrary<NewRecord> = fc.oneof(
  anyText().map(make.delta),
  fc.string().map(make.reasoning),
  used.map(make.step),
  used.map((u) => make.privateStep(make.step(u))),
  fc.constantFrom(
    make.context(),
    make.contextCut(2),
    make.resumed(),
    make.toolStarted(),
    make.toolCompleted(),
  ),
  names.map((all) => make.approvalsQueued(...all.map((n) => make.queuedApproval(n)))),
  name.map((n) => make.approvalRequest(n)),
  name.map(make.approvalWaived),
  names.map((all) => make.responded(...all)),
  fc.constantFrom(make.stopRequested(), make.steerRequested()),
);
const terminal = fc.constantFrom(make.completed(), make.failed(), make.cancelledRecord());
const records = fc
  .tuple(fc.array(unfinished), fc.option(terminal))
  .map(([all, end]) => (end ? [...all, end] : all));

describe('the status of a run', () => {
  it.each<[RunStatus, string, NewRecord[]]>([
    ['started', 'before anything', []],
    [
      'started',
      'when it was accepted',
      [{ event: 'run.accepted', private: { prompt: 'x', session_named: false } }],
    ],
    ['running', 'when it was claimed', [claimed]],
    ['running', 'when it was claimed again', [claimed, make.claimedRecord(2)]],
    ['running', 'while tools work', [claimed, make.toolStarted(), make.toolCompleted(), make.step()]],
    ['running', 'while approvals are only queued', [claimed, make.approvalsQueued(make.queuedApproval('a'))]],
    ['waiting_for_approval', 'when it asks', asked],
    ['waiting_for_approval', 'when it is claimed while it asks', [...asked, make.claimedRecord(2)]],
    ['waiting_for_approval', 'when it is steered while it asks', [...asked, make.steerRequested()]],
    ['running', 'when it was answered', [...asked, make.responded('a')]],
    [
      'waiting_for_approval',
      'when it asks again',
      [...asked, make.responded('a'), make.approvalRequest('b')],
    ],
    ['stopping', 'when it was stopped before it started', [make.stopRequested()]],
    ['stopping', 'when it was stopped while running', [claimed, make.stopRequested()]],
    ['stopping', 'when it was stopped while it asks', [...asked, make.stopRequested()]],
    ['stopping', 'when it is claimed after a stop', [make.stopRequested(), claimed]],
    ['stopping', 'when it was answered after a stop', [...asked, make.stopRequested(), make.responded('a')]],
    ['completed', 'when it completed', [claimed, make.completed()]],
    ['failed', 'when it failed', [claimed, make.failed()]],
    ['cancelled', 'when it was cancelled', [make.stopRequested(), make.cancelledRecord()]],
    ['failed', 'when it failed while stopping', [claimed, make.stopRequested(), make.failed()]],
    ['failed', 'when it failed while it asks', [...asked, make.failed()]],
  ])('is %s %s', (status, _, history) => {
    expect(after(...history).status).toBe(status);
  });

  it('never leaves a terminal one, whatever follows', () => {
    fc.assert(
      fc.property(
        fc.array(unfinished),
        terminal,
        fc.array(fc.oneof(unfinished, terminal)),
        (before, end, more) => {
          const ended = after(...before, end);
          expect(isTerminalStatus(ended.status)).toBe(true);
          expect(after(...before, end, ...more).status).toBe(ended.status);
        },
      ),
    );
  });
});

describe('the fold', () => {
  it('returns the same object for a text delta', () => {
    fc.assert(
      fc.property(records, fc.string(), (history, text) => {
        const state = after(...history);
        expect(foldRecord(state, { ...make.delta(text), pos: 99, seq: 98, at: 1 } as LogRecord)).toBe(state);
      }),
    );
  });

  it('never changes the state it was given', () => {
    fc.assert(
      fc.property(records, (history) => {
        let state = INITIAL_STATE;
        for (const record of make.numbered(history)) {
          const copy = structuredClone(state);
          const next = foldRecord(state, record);
          expect(state).toEqual(copy);
          state = next;
        }
      }),
    );
  });

  it('adds up the usage of all steps', () => {
    fc.assert(
      fc.property(records, (history) => {
        const steps = history.flatMap((r) => (r.event === 'step.completed' ? [r.private.usage] : []));
        expect(after(...history).usage).toEqual(steps.reduce(addUsage, NO_USAGE));
      }),
    );
  });

  it('names the last public event that is not a delta', () => {
    fc.assert(
      fc.property(records, (history) => {
        const shown = history.filter((r) => r.public !== undefined && r.event !== 'message.delta');
        expect(after(...history).last_event).toBe(shown.at(-1)?.event ?? '');
      }),
    );
  });

  it('remembers the position of the last post', () => {
    fc.assert(
      fc.property(records, (history) => {
        const posted = ['stop.requested', 'steer.requested', 'approval.responded'];
        expect(after(...history).last_posted_pos).toBe(
          history.findLastIndex((r) => posted.includes(r.event)),
        );
      }),
    );
  });

  it('counts wall time from the first claim', () => {
    expect(after(make.context(), claimed, make.claimedRecord(2)).started_at).toBe(1001);
  });

  it.each([make.step(), make.toolCompleted(), make.responded('a')])(
    'counts claims since progress ($event)',
    (got) => {
      const twice = [claimed, make.claimedRecord(2), make.toolStarted(), make.delta(), make.steerRequested()];
      expect(after(...twice).claims_without_progress).toBe(2);
      expect(after(...twice, got).claims_without_progress).toBe(0);
      expect(after(...twice, got, make.claimedRecord(3)).claims_without_progress).toBe(1);
    },
  );

  it('counts claims also while a person is asked: one that nobody answers in time may crash servers, too', () => {
    const asked = [claimed, make.approvalsQueued(make.queuedApproval('a')), make.approvalRequest('a')];
    const again = [2, 3, 4].map((epoch) => make.claimedRecord(epoch));
    expect(after(...asked, ...again).claims_without_progress).toBe(4);
    expect(after(...asked, ...again, make.responded('a'), ...again).claims_without_progress).toBe(3);
  });

  it('moves an approval from the queue to outstanding, and out when it is waived or answered', () => {
    const queue = make.approvalsQueued(...['a', 'b', 'c', 'd'].map((n) => make.queuedApproval(n)));
    const waiting = (state: RunState) => state.approvals_waiting.map((queued) => queued.description);
    const first = after(claimed, queue, make.approvalRequest('a'));
    expect([first.approval, waiting(first)]).toEqual([make.approval('a'), ['b', 'c', 'd']]);
    const waived = after(claimed, queue, make.approvalRequest('a'), make.approvalWaived('b'));
    expect([waived.approval?.request_id, waiting(waived)]).toEqual(['apr_a', ['c', 'd']]);
    const answered = after(claimed, queue, make.approvalRequest('a'), make.responded('a', 'c'));
    expect([answered.approval, waiting(answered)]).toEqual([null, ['b', 'd']]);
  });

  it('keeps how the run ended', () => {
    expect(after(claimed, make.completed('42'))).toMatchObject({
      output: '42',
      error: null,
      error_code: null,
    });
    expect(after(claimed, make.failed('boom'))).toMatchObject({
      output: null,
      error: 'boom',
      error_code: 'provider_error',
    });
  });
});

describe('the state a driver stores', () => {
  let fixture: JournalFixture;
  beforeAll(async () => {
    fixture = await openTempJournal();
  });
  afterAll(() => fixture.dispose());

  it('is the fold of the records one by one, however they were grouped', async () => {
    const { journal } = fixture;
    await fc.assert(
      fc.asyncProperty(records, fc.array(fc.integer({ min: 1, max: 6 })), async (history, sizes) => {
        const claim = await make.claimedRun(journal);
        const stored = await journal.readLog(claim.runId, -1);
        for (let rest = history, i = 0; rest.length > 0; i++) {
          const size = sizes[i] ?? 3;
          stored.push(...(await journal.append(claim, rest.slice(0, size), { seenPostedPos: 10_000 })));
          rest = rest.slice(size);
        }

        const run = await journal.getRun(claim.runId);

        expect(run?.state).toEqual(fold(stored));
        expect(run?.nextSeq).toBe(stored.filter((record) => record.seq !== null).length);
        expect(run?.updatedAt).toBe(stored.at(-1)?.at);
        // The next round's run must be the oldest that waits.
        await journal.append(claim, [make.failed()], { seenPostedPos: 10_000 }).catch(() => {});
      }),
    );
  });
});

describe('the run a client sees', () => {
  const SHOWN_WITH = { model: 'm', retentionMs: 60_000 };
  const expiry = { expires_at: 1779510858.684 };
  const run = (state: RunState): StoredRun => ({
    runId: 'run_1',
    owner: 'ada',
    sessionId: 's',
    ordinal: 1,
    createdAt: 1_779_510_796_504,
    updatedAt: 1_779_510_798_684,
    nextSeq: 0,
    jobId: null,
    kept: false,
    expiresAt: null,
    evicted: false,
    evictedFor: null,
    state,
  });
  const common = {
    object: 'hermes.run',
    run_id: 'run_1',
    created_at: 1779510796.504,
    updated_at: 1779510798.684,
    session_id: 's',
    model: 'm',
  };
  const step = make.step(make.usage(3, 4));

  it('adds up the costs that are known, and shows none if none is', () => {
    const priced = (cost: number) => {
      const step = make.step();
      return { ...step, public: { ...step.public, cost } } as NewRecord;
    };
    expect(toWireRun(run(after(claimed, make.step())), SHOWN_WITH)).not.toHaveProperty('cost');
    expect(toWireRun(run(after(claimed, priced(0.5), make.step(), priced(0.25))), SHOWN_WITH).cost).toBe(
      0.75,
    );
    expect(toWireHead(run(after(claimed, priced(0))), SHOWN_WITH).cost).toBe(0);
  });

  it.each<[NewRecord[], object]>([
    [[], { status: 'started', last_event: '' }],
    [[claimed, make.delta()], { status: 'running', last_event: '' }],
    [[claimed, step], { status: 'running', last_event: 'step.completed', usage_so_far: make.usage(3, 4) }],
    [
      [claimed, make.privateStep(step)],
      { status: 'running', last_event: '', usage_so_far: make.usage(3, 4) },
    ],
    [
      [claimed, step, make.completed('')],
      { status: 'completed', last_event: 'run.completed', output: '', usage: make.usage(3, 4), ...expiry },
    ],
    [
      [claimed, step, make.failed('x')],
      {
        status: 'failed',
        last_event: 'run.failed',
        usage_so_far: make.usage(3, 4),
        error: 'x',
        error_code: 'provider_error',
        ...expiry,
      },
    ],
    [
      [
        { event: 'run.accepted', private: { prompt: 'hi', session_named: false, context: [], skipped: 4 } },
        claimed,
      ],
      { status: 'running', last_event: '', omitted_messages: 4 },
    ],
    [
      [claimed, { event: 'run.context', private: { session: { from: 5, to: 9 }, skipped: 5 } }],
      { status: 'running', last_event: '', omitted_messages: 5 },
    ],
    [
      [claimed, make.contextCut(3), make.contextCut(7)],
      { status: 'running', last_event: '', omitted_messages: 7 },
    ],
    [asked, { status: 'waiting_for_approval', last_event: 'approval.request', approval: make.approval('a') }],
    [
      [...asked, make.approvalsQueued(make.queuedApproval('b'))],
      {
        status: 'waiting_for_approval',
        last_event: 'approval.request',
        approval: make.approval('a'),
        approvals_waiting: [make.queuedApproval('b')],
      },
    ],
    [[...asked, make.stopRequested()], { status: 'stopping', last_event: 'approval.request' }],
    [
      [...asked, make.stopRequested(), make.cancelledRecord()],
      { status: 'cancelled', last_event: 'run.cancelled', ...expiry },
    ],
  ])('after %j has exactly the fields of its status', (history, fields) => {
    const steps = history.filter(({ event }) => event === 'step.completed').length;
    expect(toWireRun(run(after(...history)), SHOWN_WITH)).toStrictEqual({ ...common, steps, ...fields });
  });

  it('shows the prompt, the last seq and the job where they exist', () => {
    const request = { prompt: 'hi', shown_input: 'hi', session_named: false };
    const state = after({ event: 'run.accepted', private: request });
    expect(toWireRun({ ...run(state), nextSeq: 3, jobId: '0123456789ab' }, SHOWN_WITH)).toMatchObject({
      input: 'hi',
      last_seq: 2,
      job_id: '0123456789ab',
    });
  });

  it('does not count the steps of a run that an earlier version began', () => {
    const { steps: _, ...before } = after(claimed, step);
    const state = toState({ state: JSON.stringify(before) });
    const next = foldRecord(state, { ...step, pos: 9, seq: null, at: 0 } as LogRecord);
    expect(toWireRun(run(next), SHOWN_WITH)).not.toHaveProperty('steps');
  });

  it('says until when it is there, unless it is kept or gone', () => {
    const ended = run(after(claimed, make.completed()));
    const shown = (overrides: Partial<StoredRun>) => {
      const { keep, expires_at, evicted_for } = toWireHead({ ...ended, ...overrides }, SHOWN_WITH);
      return { keep, expires_at, evicted_for };
    };
    const none = { keep: undefined, expires_at: undefined, evicted_for: undefined };
    expect(shown({})).toEqual({ ...none, ...expiry });
    expect(shown({ expiresAt: 1_779_999_999_000 })).toEqual({ ...none, expires_at: 1_779_999_999 });
    expect(shown({ kept: true, expiresAt: 5 })).toEqual({ ...none, keep: true });
    expect(shown({ evicted: true })).toEqual(none);
    expect(shown({ evicted: true, evictedFor: 'room' })).toEqual({ ...none, evicted_for: 'room' });
    expect(shown({ state: after(claimed) })).toEqual(none);
    expect(shown({ state: after(claimed), kept: true })).toEqual({ ...none, keep: true });
  });

  it('has no answer in its head', () => {
    const head = toWireHead(run(after(claimed, step, make.completed('{}'))), SHOWN_WITH);
    expect(head).toMatchObject({ status: 'completed', usage: make.usage(3, 4) });
    expect(head).not.toHaveProperty('output');
  });
});
