import { beforeEach, expect, it } from 'vitest';
import type { WorkspacePlaces } from '../journal/peers.ts';
import { RunWorkspace } from './run-workspace.ts';

const LEASE = { runId: 'run_1', epoch: 3 };
/** Where the workspace is recorded, if anywhere; what happened, in order. */
let recorded: string | undefined;
let isHere: boolean;
let steps: string[];

beforeEach(() => {
  [recorded, isHere, steps] = [undefined, false, []];
});

function workspace({ alone = false } = {}): RunWorkspace {
  const places: Pick<WorkspacePlaces, 'place' | 'locate'> = {
    place: async (_, serverId) => void steps.push(`placed on ${serverId}`),
    locate: async () => (recorded === undefined ? undefined : { serverId: recorded, server: undefined }),
  };
  const backend = {
    openWorkspace: async () => (isHere ? ({} as never) : undefined),
    discard: async () => void steps.push('discarded'),
  };
  const shared = alone ? undefined : { serverId: 'self', places: places as WorkspacePlaces };
  return new RunWorkspace(LEASE, { backend, shared });
}

const PLACED = 'placed on self';

it.each([
  ['nowhere', undefined, false, false, { lost: false, steps: [] }],
  ['here, on record', 'self', true, true, { lost: false, steps: [] }],
  ['here, and not on record yet', undefined, true, true, { lost: false, steps: [] }],
  ['on record here, but not made yet', 'self', false, false, { lost: false, steps: [] }],
  ['on record here, but gone', 'self', false, true, { lost: true, steps: [PLACED] }],
  ['elsewhere', 'other', false, true, { lost: true, steps: [PLACED] }],
  ['elsewhere, used only by calls that failed', 'other', false, false, { lost: true, steps: [PLACED] }],
  ['elsewhere, with older files here', 'other', true, true, { lost: true, steps: ['discarded', PLACED] }],
])(
  'is lost or not, and recorded before the run is told, when it is %s',
  async (_, place, here, used, expected) => {
    [recorded, isHere] = [place, here];
    expect({ lost: await workspace().isLost(used), steps }).toEqual(expected);
  },
);

it('is recorded once', async () => {
  const { place } = workspace();
  await Promise.all([place(), place()]);
  await place();
  expect(steps).toEqual([PLACED]);
});

it('is not recorded if there is no other server', async () => {
  const alone = workspace({ alone: true });
  await alone.place();
  expect(await alone.isLost(true)).toBe(true);
  isHere = true;
  expect(await alone.isLost(true)).toBe(false);
  expect(steps).toEqual([]);
});
