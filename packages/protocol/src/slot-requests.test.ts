import { describe, expect, it } from 'vitest';
import { TalariaError } from './errors.ts';
import { parseAcquireSlot, parseExecuteSlots, parseReleaseSlot } from './slot-requests.ts';

const SLOT = `slot_${'0'.repeat(32)}`;

function refusal(parse: () => unknown): [string, string | null] {
  try {
    parse();
  } catch (error) {
    if (error instanceof TalariaError) return [error.code, error.param];
    throw error;
  }
  throw new Error('it was taken');
}

describe('an acquire', () => {
  it('may name a trajectory', () => {
    expect(parseAcquireSlot({})).toBeUndefined();
    expect(parseAcquireSlot({ trajectory_id: null })).toBeUndefined();
    expect(parseAcquireSlot({ trajectory_id: 'task 7/ä' })).toBe('task 7/ä');
  });

  it.each([[''], ['x'.repeat(257)], ['a\nb'], [7], [{}]])('refuses the trajectory %j', (trajectory_id) => {
    expect(refusal(() => parseAcquireSlot({ trajectory_id }))).toEqual(['invalid_request', 'trajectory_id']);
  });

  it('takes an object and nothing else', () => {
    expect(refusal(() => parseAcquireSlot([]))[0]).toBe('body_not_object');
  });
});

describe('a batch', () => {
  const call = { slot_id: SLOT, tool: 'bash', args: { command: 'true' } };
  const parse = (fields: object) => parseExecuteSlots({ requests: [call], ...fields }, 180);

  it('has calls in order, and arguments where they are given', () => {
    expect(parse({ requests: [call, { slot_id: SLOT, tool: 'read_file' }], timeout_s: 2.5 })).toEqual({
      calls: [
        { slotId: SLOT, tool: 'bash', args: { command: 'true' } },
        { slotId: SLOT, tool: 'read_file', args: {} },
      ],
      timeoutS: 2.5,
    });
  });

  it.each([
    ['requests', { requests: [] }],
    ['requests', { requests: {} }],
    ['requests', { requests: undefined }],
    ['requests', { requests: Array(257).fill(call) }],
    ['requests[1]', { requests: [call, null] }],
    ['requests[0].slot_id', { requests: [{ ...call, slot_id: '' }] }],
    ['requests[0].tool', { requests: [{ ...call, tool: 7 }] }],
    ['requests[0].args', { requests: [{ ...call, args: [] }] }],
    ['timeout_s', { timeout_s: 0 }],
    ['timeout_s', { timeout_s: '5' }],
    ['timeout_s', { timeout_s: 180.1 }],
  ])('names %s when it is invalid', (param, fields) => {
    expect(refusal(() => parse(fields))).toEqual(['invalid_request', param]);
  });

  it('may use the whole maximum timeout', () => {
    expect(parse({ timeout_s: 180 }).timeoutS).toBe(180);
    expect(parse({}).timeoutS).toBeUndefined();
  });
});

it('a release keeps the files unless it says otherwise', () => {
  expect(parseReleaseSlot({})).toEqual({ resetWorkspace: false });
  expect(parseReleaseSlot({ reset_workspace: true })).toEqual({ resetWorkspace: true });
  expect(refusal(() => parseReleaseSlot({ reset_workspace: 'yes' }))[1]).toBe('reset_workspace');
});
