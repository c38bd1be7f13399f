/** Whether a run takes a word before its next step: the server refuses it before the run starts, and when it stops. */
import type { Run } from '@talaria/client';

const STEERABLE: readonly Run['status'][] = ['running', 'waiting_for_approval', 'waiting_for_tool'];

export function isSteerable(status: Run['status']): boolean {
  return STEERABLE.includes(status);
}
