/** The sandbox without the agent. */

import { boolean, integer, LONGEST_TIMER_SECONDS, seconds } from '../kinds/kinds.ts';
import { define } from './setting.ts';

export const slotsSettings = {
  slots: define({
    env: 'TALARIA_SLOTS',
    key: 'slots',
    kind: boolean(),
    default: false,
    group: 'Slots',
    about: 'whether clients may use the sandbox without the agent (docs/slots.md)',
  }),
  maxSlots: define({
    env: 'TALARIA_MAX_SLOTS',
    key: 'max_slots',
    kind: integer({ min: 1, max: 100_000 }),
    default: 32,
    group: 'Slots',
    about: 'slots that clients may hold at the same time, beside those of runs',
  }),
  maxSlotsPerKey: define({
    env: 'TALARIA_MAX_SLOTS_PER_KEY',
    key: 'max_slots_per_key',
    kind: integer({ min: 1, max: 100_000 }),
    default: undefined,
    defaultText: 'all of them with one key, half of them with several',
    group: 'Slots',
    about: 'slots that one key may hold',
  }),
  slotWaitSeconds: define({
    env: 'TALARIA_SLOT_WAIT_SECONDS',
    key: 'slot_wait_seconds',
    kind: seconds({ min: 0, max: 3600 }),
    default: 30,
    group: 'Slots',
    about: 'how long a request for a slot waits for a free one before it fails with 429',
  }),
  slotIdleSeconds: define({
    env: 'TALARIA_SLOT_IDLE_SECONDS',
    key: 'slot_idle_seconds',
    kind: seconds({ min: 0.1, max: LONGEST_TIMER_SECONDS }),
    default: 600,
    group: 'Slots',
    about: 'how long a client may hold a slot without using it; then the server releases it',
  }),
  slotFilesSeconds: define({
    env: 'TALARIA_SLOT_FILES_SECONDS',
    key: 'slot_files_seconds',
    kind: seconds({ min: 0, max: LONGEST_TIMER_SECONDS }),
    default: 3600,
    group: 'Slots',
    about: 'how long the server keeps the files of a released trajectory for its next slot',
  }),
};
