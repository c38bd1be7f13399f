import { expect, it } from 'vitest';
import { describeConfig } from '../describe.ts';
import { load, problemsOf } from '../testing/load.ts';

it('reads rules from the environment, a flag and the file', () => {
  const env = { TALARIA_APPROVALS_DENY: 'git push *; npm publish **\nterraform **' };
  expect(load({ env }).config.approvalsDeny).toEqual(['git push *', 'npm publish **', 'terraform **']);
  expect(load({ argv: ['--approvals-ask', 'curl **'] }).config.approvalsAsk).toEqual(['curl **']);
  const files = {
    '/home/ada/.talaria/config.json': '{"approvals": {"allow": ["rm -rf build", "echo \\"a;b\\""]}}',
  };
  const { config } = load({ files });
  expect(config.approvalsAllow).toEqual(['rm -rf build', 'echo "a;b"']);
  expect(describeConfig(config)).toContainEqual([
    'TALARIA_APPROVALS_ALLOW',
    'rm -rf build; echo "a;b"',
    expect.stringContaining('file'),
  ]);
});

it('has none by default', () => {
  expect(load({}).config).toMatchObject({ approvalsAllow: [], approvalsAsk: [], approvalsDeny: [] });
});

it.each([
  ['ls; * -rf', 'entry 2: it names no program'],
  ['git ** --force', 'entry 1: `**` is a word of its own, and the last one'],
  ['git push**', 'entry 1: `**` is a word of its own, and the last one'],
])('refuses %s', (rules, reason) => {
  expect(problemsOf({ env: { TALARIA_APPROVALS_DENY: rules } })[0]).toContain(reason);
});

it('refuses a value in the file that is not a list of strings', () => {
  const files = { '/home/ada/.talaria/config.json': '{"approvals": {"deny": [7]}}' };
  expect(problemsOf({ files })[0]).toContain('entry 1 is not a string');
});
