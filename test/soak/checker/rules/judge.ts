/** All rules. Pure: what clients were told and what servers say now, in; what is broken, out. */
import type { Evidence, Violation } from '../../evidence.ts';
import type { Observation } from '../observation.ts';
import { checkCalls } from './calls.ts';
import { checkConversations } from './conversations.ts';
import { checkIdentity } from './identity.ts';
import { checkLogs } from './logs.ts';
import { checkThings } from './things.ts';

export function judge(evidence: Evidence, observation: Observation): Violation[] {
  return [checkIdentity, checkLogs, checkCalls, checkConversations, checkThings].flatMap((check) =>
    check(evidence, observation),
  );
}
