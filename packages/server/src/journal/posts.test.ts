import { isTerminalStatus, TalariaError } from '@talaria/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { admit, type Post } from './posts.ts';
import type { NewRecord } from './records.ts';
import { foldRecord, INITIAL_STATE, type RunState } from './run-state.ts';
import {
  approvalRequest,
  approvalsQueued,
  cancelledRecord,
  claimedRecord,
  completed,
  failed,
  names,
  numbered,
  queuedApproval,
  responded,
  steerRequested,
  step,
  stopRequested,
  usage,
} from './testing/records.ts';

const after = (...records: NewRecord[]): RunState => numbered(records).reduce(foldRecord, INITIAL_STATE);

const started = after();
const running = after(claimedRecord());
const waiting = after(claimedRecord(), approvalRequest('a'));
const stopping = after(claimedRecord(), stopRequested());
const stoppingWithApproval = after(claimedRecord(), approvalRequest('a'), stopRequested());
const finished = {
  completed: after(claimedRecord(), completed()),
  failed: after(claimedRecord(), failed()),
  cancelled: after(stopRequested(), cancelledRecord()),
};

const stop: Post = { kind: 'stop' };
const steer: Post = { kind: 'steer', input: 'left' };
const answer = (fields: Partial<Extract<Post, { kind: 'approval' }>> = {}): Post => ({
  kind: 'approval',
  choice: 'once',
  all: false,
  ...fields,
});

function refusal(state: RunState, post: Post): string {
  try {
    admit(state, post, true);
  } catch (error) {
    if (error instanceof TalariaError) return error.code;
    throw error;
  }
  return 'admitted';
}

describe('a finished run', () => {
  it.each(Object.entries(finished))('accepts nothing when it is %s', (_, state) => {
    expect(refusal(state, stop)).toBe('run_not_active');
    expect(refusal(state, steer)).toBe('run_not_accepting_steer');
    expect(refusal(state, answer())).toBe('approval_not_active');
  });

  it('accepts no approval even when it ended with one outstanding', () => {
    const ended = after(claimedRecord(), approvalRequest('a'), failed());
    expect(refusal(ended, answer({ requestId: 'apr_a' }))).toBe('approval_not_active');
  });
});

describe('stop', () => {
  it.each([
    ['started', started],
    ['running', running],
    ['waiting for approval', waiting],
  ])('is recorded for the owner of a run that is %s', (_, state) => {
    expect(names(admit(state, stop, true).records)).toEqual(['stop.requested']);
  });

  it.each([
    ['started', started],
    ['running', running],
    ['waiting for approval', waiting],
  ])('ends a run that is %s and that nobody owns at once', (_, state) => {
    expect(names(admit(state, stop, false).records)).toEqual(['stop.requested', 'run.cancelled']);
  });

  it('changes nothing while the owner is already stopping', () => {
    expect(admit(stopping, stop, true)).toEqual({ records: [] });
  });

  it('ends a stopping run whose owner is gone', () => {
    expect(names(admit(stopping, stop, false).records)).toEqual(['run.cancelled']);
  });

  it('reports the usage of the ended run', () => {
    const used = after(claimedRecord(), step(usage(5, 2)));
    expect(admit(used, stop, false).records.at(-1)?.public).toEqual({ usage_so_far: usage(5, 2) });
    expect(admit(running, stop, false).records.at(-1)?.public).toEqual({});
  });
});

describe('steer', () => {
  it('is accepted until 32 wait, and again when the model has got one', () => {
    const steered = (count: number) => Array.from({ length: count }, () => steerRequested());
    expect(refusal(after(claimedRecord(), ...steered(31)), steer)).toBe('admitted');
    expect(refusal(after(claimedRecord(), ...steered(32)), steer)).toBe('too_many_steers');
    const given: NewRecord = { event: 'run.steered', public: { input: 'x' }, private: { steer_pos: 1 } };
    expect(refusal(after(claimedRecord(), ...steered(32), given), steer)).toBe('admitted');
  });

  it.each([
    ['running', running],
    ['waiting for approval', waiting],
  ])('is recorded for a run that is %s', (_, state) => {
    expect(admit(state, steer, true).records).toEqual([
      { event: 'steer.requested', private: { input: 'left' } },
    ]);
  });

  it.each([
    ['not started', started],
    ['stopping', stopping],
  ])('is refused by a run that is %s', (_, state) => {
    expect(refusal(state, steer)).toBe('run_not_accepting_steer');
  });
});

describe('an approval', () => {
  it.each([
    ['started', started],
    ['running', running],
    ['stopping without one', stopping],
  ])('is refused by a run that is %s and asks for none', (_, state) => {
    expect(refusal(state, answer())).toBe('approval_not_pending');
  });

  it('answers the outstanding request, named or not', () => {
    const expected = {
      records: [
        {
          event: 'approval.responded',
          public: { choice: 'deny', resolved: 1, request_id: 'apr_a' },
          private: { request_ids: ['apr_a'] },
        },
      ],
    };
    expect(admit(waiting, answer({ choice: 'deny' }), true)).toEqual(expected);
    expect(admit(waiting, answer({ choice: 'deny', requestId: 'apr_a' }), true)).toEqual(expected);
  });

  it('is accepted whether or not anybody owns the run, so that it can be given after a crash', () => {
    expect(admit(waiting, answer(), false)).toEqual(admit(waiting, answer(), true));
  });

  it('is refused when it names another request: stale, queued or unknown', () => {
    const state = after(
      claimedRecord(),
      approvalRequest('old'),
      responded('old'),
      approvalsQueued(queuedApproval('a'), queuedApproval('b')),
      approvalRequest('a'),
    );
    for (const requestId of ['apr_old', 'apr_b', 'apr_nobody', '']) {
      expect(refusal(state, answer({ requestId }))).toBe('approval_not_pending');
    }
  });

  it('is refused when the request was answered', () => {
    expect(refusal(after(claimedRecord(), approvalRequest('a'), responded('a')), answer())).toBe(
      'approval_not_pending',
    );
  });

  it('is still accepted while the run is stopping', () => {
    expect(names(admit(stoppingWithApproval, answer(), true).records)).toEqual(['approval.responded']);
  });

  it('carries its reason', () => {
    const [record] = admit(waiting, answer({ choice: 'deny', reason: 'timeout' }), true).records;
    expect(record?.public).toMatchObject({ reason: 'timeout', answered_by: 'timeout' });
  });

  it('says who answered, and why it was denied', () => {
    const post = answer({ choice: 'deny', by: 'ada', message: 'not that one' });
    expect(admit(waiting, post, true).records[0]?.public).toMatchObject({
      answered_by: 'ada',
      message: 'not that one',
    });
  });

  it('grants nothing when it is for once or a denial', () => {
    expect(admit(waiting, answer({ choice: 'once' }), true).grants).toBeUndefined();
    expect(admit(waiting, answer({ choice: 'deny', all: true }), true).grants).toBeUndefined();
  });

  describe('of several', () => {
    const several = after(
      claimedRecord(),
      approvalsQueued(
        queuedApproval('a', ['delete', 'sudo']),
        queuedApproval('b', ['sudo', 'format']),
        queuedApproval('c', ['chmod']),
      ),
      approvalRequest('a', ['delete', 'sudo']),
    );

    it('answers and grants only the outstanding one', () => {
      expect(admit(several, answer({ choice: 'session' }), true)).toMatchObject({
        records: [{ public: { resolved: 1 }, private: { request_ids: ['apr_a'] } }],
        grants: { scope: 'session', patternKeys: ['delete', 'sudo'] },
      });
    });

    it('answers and grants those behind it too when it is for all', () => {
      expect(admit(several, answer({ choice: 'always', all: true }), true)).toMatchObject({
        records: [
          {
            public: { resolved: 3, request_id: 'apr_a' },
            private: { request_ids: ['apr_a', 'apr_b', 'apr_c'] },
          },
        ],
        grants: { scope: 'always', patternKeys: ['delete', 'sudo', 'format', 'chmod'] },
      });
    });

    it('leaves nothing to answer after one for all', () => {
      const next = numbered(admit(several, answer({ all: true }), true).records).reduce(foldRecord, several);
      expect([next.status, next.approval, next.approvals_waiting]).toEqual(['running', null, []]);
    });
  });
});

it('every post admitted to a run that nobody owns leaves it unfinished, or is a stop', () => {
  const states = [started, running, waiting, stopping, stoppingWithApproval];
  const posts = [stop, steer, answer(), answer({ choice: 'always', all: true })];
  fc.assert(
    fc.property(fc.constantFrom(...states), fc.constantFrom(...posts), fc.boolean(), (state, post, owned) => {
      if (refusal(state, post) !== 'admitted') return;
      const next = numbered(admit(state, post, owned).records).reduce(foldRecord, state);
      expect(isTerminalStatus(next.status)).toBe(post.kind === 'stop' && !owned);
    }),
  );
});
