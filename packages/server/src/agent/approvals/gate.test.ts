import { describe, expect, test } from 'vitest';
import { createGate, type GatePolicy } from './gate.ts';
import { parseRule } from './matcher/command-rules.ts';

const POLICIES: GatePolicy[] = [true, false].flatMap((isolated) =>
  (['ask', 'skip'] as const).map((when) => ({ isolated, whenIsolated: when, whenUnisolated: when })),
);
const ISOLATED: GatePolicy = { isolated: true, whenIsolated: 'ask', whenUnisolated: 'ask' };

test.each(POLICIES)('a call with a question of its own asks it under every policy: %j', (policy) => {
  const gate = createGate(policy);
  const question = { text: 'may I?', key: 'this tool' };
  expect(gate({ question })).toEqual({ kind: 'ask', keys: ['this tool'] });
  expect(gate({})).toEqual({ kind: 'allow' });
});

test('a directory of the host is not harmless: a gated command in it asks', () => {
  const skips: GatePolicy = { ...ISOLATED, whenIsolated: 'skip' };
  expect(createGate(skips)({ command: 'rm -rf build' })).toEqual({ kind: 'allow' });
  const mounted = createGate({ ...skips, mounted: true });
  expect(mounted({ command: 'rm -rf build' })).toEqual({ kind: 'ask', keys: ['recursive delete'] });
  expect(mounted({ command: 'ls' })).toEqual({ kind: 'allow' });
});

describe('rules of the operator', () => {
  const gate = (
    rules: { allow?: string[]; ask?: string[]; deny?: string[] },
    policy: Partial<GatePolicy> = {},
  ) =>
    createGate({
      ...ISOLATED,
      ...policy,
      rules: {
        allow: (rules.allow ?? []).map(parseRule),
        ask: (rules.ask ?? []).map(parseRule),
        deny: (rules.deny ?? []).map(parseRule),
      },
    });

  test('are compared word by word, never with a part of one', () => {
    const judge = gate({ deny: ['git push *', 'npm run deploy:*', 'make'] });
    for (const command of ['git push origin', '/usr/bin/git push x', 'npm run deploy:prod', 'make']) {
      expect(judge({ command }), command).toMatchObject({ kind: 'never' });
    }
    for (const command of [
      'git push',
      'git push origin main',
      'npm run predeploy:x',
      'make test',
      'echo git push x',
    ]) {
      expect(judge({ command }), command).toEqual({ kind: 'allow' });
    }
    expect(gate({ deny: ['git push **'] })({ command: 'git push origin main' })).toMatchObject({
      kind: 'never',
    });
  });

  test('apply to the command that would run, whatever wraps it', () => {
    const judge = gate({ deny: ['curl **'] });
    for (const command of [
      'env A=1 curl x',
      'sudo curl x',
      "bash -c 'curl x'",
      'echo $(curl x)',
      'ls | xargs curl',
    ]) {
      expect(judge({ command }), command).toMatchObject({
        kind: 'never',
        reason: "the rule 'curl **' denies it",
      });
    }
  });

  test('that deny come first, then commands that never run, then rules that ask, then rules that allow', () => {
    const command = 'rm -rf build';
    expect(gate({ allow: ['rm -rf build'] })({ command })).toEqual({ kind: 'allow' });
    expect(gate({ allow: ['rm **'] })({ command: 'rm -rf /' })).toMatchObject({ kind: 'never' });
    expect(gate({ allow: ['rm **'], ask: ['rm **'] })({ command })).toEqual({
      kind: 'ask',
      keys: ['rule: rm **'],
    });
    expect(gate({ ask: ['rm **'] })({ command })).toEqual({
      kind: 'ask',
      keys: ['rule: rm **', 'recursive delete'],
    });
    expect(gate({ allow: ['rm **'], ask: ['rm **'], deny: ['rm **'] })({ command })).toMatchObject({
      kind: 'never',
    });
  });

  test('that allow cover one command, and no other command of the same line', () => {
    const judge = gate({ allow: ['rm -rf build', 'frobnicate **'] });
    expect(judge({ command: 'frobnicate --all && rm -rf build' })).toEqual({ kind: 'allow' });
    expect(judge({ command: 'rm -rf build; rm -rf src' })).toMatchObject({ keys: ['recursive delete'] });
    expect(judge({ command: 'frobnicate $(rm -rf src)' })).toMatchObject({ keys: ['recursive delete'] });
    expect(judge({ command: 'frobnicate > /etc/hosts' })).toMatchObject({
      keys: ['overwrite system config'],
    });
    expect(judge({ command: 'rm -rf $X' })).toMatchObject({ kind: 'ask' });
  });

  test('that deny also match a word that the matcher cannot read', () => {
    expect(gate({ deny: ['git push --force'] })({ command: 'git push $FLAGS' })).toMatchObject({
      kind: 'never',
    });
  });

  test('ask even if the policy lets every isolated command run', () => {
    const judge = gate({ ask: ['git push **'] }, { whenIsolated: 'skip' });
    expect(judge({ command: 'git push' })).toEqual({ kind: 'ask', keys: ['rule: git push **'] });
    expect(judge({ command: 'rm -rf build' })).toEqual({ kind: 'allow' });
  });
});
