/** How many containers there are and how runs share them, for every backend with containers. */

import { integer, LONGEST_TIMER_SECONDS, seconds } from '../kinds/kinds.ts';
import { define } from './setting.ts';

export const containersSettings = {
  slotsPerContainer: define({
    env: 'TALARIA_SLOTS_PER_CONTAINER',
    key: 'slots_per_container',
    kind: integer({ min: 1, max: 1000 }),
    default: 1,
    group: 'Sandbox and approvals',
    about: 'runs that share a container, its memory and its processors',
  }),
  minContainers: define({
    env: 'TALARIA_MIN_CONTAINERS',
    key: 'min_containers',
    kind: integer({ min: 0, max: 10_000 }),
    default: 1,
    group: 'Sandbox and approvals',
    about: 'containers that are always up',
  }),
  maxContainers: define({
    env: 'TALARIA_MAX_CONTAINERS',
    key: 'max_containers',
    kind: integer({ min: 1, max: 10_000 }),
    default: undefined,
    defaultText:
      'as many as the runs that work at the same time need, and as many again for runs that wait with background processes',
    group: 'Sandbox and approvals',
    about: 'most containers at the same time',
  }),
  warmSlots: define({
    env: 'TALARIA_WARM_SLOTS',
    key: 'warm_slots',
    kind: integer({ min: 0, max: 10_000 }),
    default: 1,
    group: 'Sandbox and approvals',
    about: 'free places in containers that are ready for the next runs',
  }),
  acquireTimeoutSeconds: define({
    env: 'TALARIA_ACQUIRE_TIMEOUT_SECONDS',
    key: 'acquire_timeout_seconds',
    kind: seconds({ min: 0.1, max: LONGEST_TIMER_SECONDS }),
    default: 60,
    group: 'Sandbox and approvals',
    about: 'how long a tool call waits for a place in a container',
  }),
};
