import { beforeEach, expect, it } from 'vitest';
import type { WorkspacePlaces } from '../journal/peers.ts';
import { RunWorkspace } from './run-workspace.ts';

const LEASE = { runId: 'run_1', epoch: 3 };
/** Where the workspace is recorded, if anywhere; what happened, in order. */
let recorded: string | undefined;
let isHere: boolean;
let isReverted: boolean;
let steps: string[];

beforeEach(() => {
  [recorded, isHere, isReverted, steps] = [undefined, false, false, []];
});

function workspace({ alone = false } = {}): RunWorkspace {
  const places: Pick<WorkspacePlaces, 'place' | 'locate'> = {
    place: async (_, serverId) => void steps.push(`placed on ${serverId}`),
    locate: async () => (recorded === undefined ? undefined : { serverId: recorded, server: undefined }),
  };
  const workspaces = {
    open: async () => (isHere ? ({} as never) : undefined),
    isReverted: async () => isReverted,
    discard: async () => void steps.push('discarded'),
  };
  const shared = alone ? undefined : { serverId: 'self', places: places as WorkspacePlaces };
  return new RunWorkspace(LEASE, { workspaces, shared });
}

const PLACED = 'placed on self';

it.each([
  ['nowhere', undefined, false, false, { found: 'here', steps: [] }],
  ['here, on record', 'self', true, true, { found: 'here', steps: [] }],
  ['here, and not on record yet', undefined, true, true, { found: 'here', steps: [] }],
  ['on record here, but not made yet', 'self', false, false, { found: 'here', steps: [] }],
  ['on record here, but gone', 'self', false, true, { found: 'lost', steps: [PLACED] }],
  ['elsewhere', 'other', false, true, { found: 'lost', steps: [PLACED] }],
  ['elsewhere, used only by calls that failed', 'other', false, false, { found: 'lost', steps: [PLACED] }],
  ['elsewhere, with older files here', 'other', true, true, { found: 'lost', steps: ['discarded', PLACED] }],
])(
  'is here or lost, and recorded before the run is told, when it is %s',
  async (_, place, here, used, expected) => {
    [recorded, isHere] = [place, here];
    expect({ found: await workspace().find(used), steps }).toEqual(expected);
  },
);

it('is reverted if its files were lost with a container of this server, and older ones are left untouched', async () => {
  [recorded, isHere, isReverted] = ['self', true, true];
  expect(await workspace().find(true)).toBe('reverted');
  expect(steps).toEqual([]);
  recorded = 'other';
  expect(await workspace().find(true)).toBe('lost');
  expect(steps).toEqual(['discarded', PLACED]);
});

it('is recorded once', async () => {
  const { place } = workspace();
  await Promise.all([place(), place()]);
  await place();
  expect(steps).toEqual([PLACED]);
});

it('is not recorded if there is no other server', async () => {
  const alone = workspace({ alone: true });
  await alone.place();
  expect(await alone.find(true)).toBe('lost');
  isHere = true;
  expect(await alone.find(true)).toBe('here');
  expect(steps).toEqual([]);
});
