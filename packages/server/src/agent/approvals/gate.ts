/**
 * Decides whether a tool call may run, has to be approved by a person first, or never runs. Pure.
 */
import type { PreparedCall } from '../tools/tool.ts';
import { classifyCommand, PATTERN_KEYS, type Verdict } from './matcher/classify.ts';

export type { Verdict };

export type Gate = (call: Pick<PreparedCall, 'command' | 'judged' | 'question'>) => Verdict;

/** Asked for every command where nothing keeps it from the host. */
const UNISOLATED_KEY = 'command outside a sandbox';

export interface GatePolicy {
  /** Whether the backend keeps commands from the host. */
  isolated: boolean;
  /** Whether dangerous commands ask although they run isolated. */
  whenIsolated: 'ask' | 'skip';
  /** Whether every command asks where it does not run isolated. */
  whenUnisolated: 'ask' | 'skip';
}

export function createGate(policy: GatePolicy): Gate {
  return ({ command, judged, question }) => {
    if (question !== undefined) return { kind: 'ask', keys: [question.key] };
    if (command === undefined) return { kind: 'allow' };
    const verdict = judge([{ text: command }, ...(judged ?? [])]);
    if (verdict.kind === 'never') return verdict;
    if (policy.isolated) return policy.whenIsolated === 'skip' ? { kind: 'allow' } : verdict;
    if (policy.whenUnisolated === 'skip') return verdict;
    return {
      kind: 'ask',
      keys: verdict.kind === 'ask' ? [...verdict.keys, UNISOLATED_KEY] : [UNISOLATED_KEY],
    };
  };
}

/** The most severe of all: a reading may add findings, none removes one. */
function judge(commands: NonNullable<PreparedCall['judged']>): Verdict {
  const verdicts = commands.map(({ text, after = [] }) =>
    classifyCommand(
      text,
      // What is never run has left nothing.
      after.filter((earlier) => classifyCommand(earlier).kind !== 'never'),
    ),
  );
  const never = verdicts.find(({ kind }) => kind === 'never');
  if (never !== undefined) return never;
  const found = new Set(verdicts.flatMap((verdict) => (verdict.kind === 'ask' ? verdict.keys : [])));
  const [first, ...rest] = PATTERN_KEYS.filter((key) => found.has(key));
  return first === undefined ? { kind: 'allow' } : { kind: 'ask', keys: [first, ...rest] };
}
