import { expect, test } from 'vitest';
import { createGate, type GatePolicy } from './gate.ts';

const POLICIES: GatePolicy[] = [true, false].flatMap((isolated) =>
  (['ask', 'skip'] as const).map((when) => ({ isolated, whenIsolated: when, whenUnisolated: when })),
);

test.each(POLICIES)('a call with a question asks it, whatever is thought of commands: %j', (policy) => {
  const gate = createGate(policy);
  const question = { text: 'may I?', key: 'this tool' };
  expect(gate({ question })).toEqual({ kind: 'ask', keys: ['this tool'] });
  expect(gate({})).toEqual({ kind: 'allow' });
});
