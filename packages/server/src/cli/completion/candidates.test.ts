import { describe, expect, it } from 'vitest';
import { completionOf } from './candidates.ts';

const words = (...typed: string[]) => {
  const completion = completionOf(typed);
  return completion.kind === 'words' ? completion.words.map(({ word }) => word) : completion;
};

describe('what can come next', () => {
  it.each([
    [[''], expect.arrayContaining(['serve', 'run', 'artifacts', 'help'])],
    [['help', ''], expect.arrayContaining(['serve', 'artifacts'])],
    [
      ['artifacts', ''],
      ['ls', 'cat', 'get'],
    ],
    [['help', 'jobs', ''], expect.arrayContaining(['list', 'create'])],
    [['show', ''], { kind: 'ids', of: 'run' }],
    [['ps', '--status', ''], expect.arrayContaining(['completed'])],
    [['approve', ''], { kind: 'ids', of: 'run' }],
    [
      ['approve', 'run_1', ''],
      ['once', 'session', 'always', 'deny'],
    ],
    [
      ['approve', '--json', 'run_1', ''],
      ['once', 'session', 'always', 'deny'],
    ],
    [
      ['approve', '--request', 'apr_1', 'run_1', ''],
      ['once', 'session', 'always', 'deny'],
    ],
    [['approve', 'run_1', 'once', ''], []],
    [['answer', 'run_1', ''], { kind: 'ids', of: 'call' }],
    [['ps', '--status', ''], expect.arrayContaining(['waiting_for_tool'])],
    [['stop', 'run_1', ''], { kind: 'ids', of: 'run' }],
    [['run', '-s', ''], { kind: 'ids', of: 'session' }],
    [['run', '--detach', '--'], expect.arrayContaining(['--session', '--help'])],
    [['run', '--', '-'], []],
    [['artifacts', 'get', 'run_1', '-o', ''], { kind: 'files' }],
    [
      ['artifacts', 'get', 'run_1', '--format', ''],
      ['tar.gz', 'tar', 'zip'],
    ],
    [['artifacts', 'list', ''], { kind: 'ids', of: 'run' }],
    [['jobs', 'pause', ''], { kind: 'ids', of: 'job' }],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [['serve', '--'], { kind: 'settings', words: [expect.objectContaining({ word: '--help' })] }],
    [['dance', ''], []],
    [['artifacts', 'dance', ''], []],
    [['help', 'run', ''], []],
  ])('after %j', (typed, expected) => {
    expect(words(...typed)).toEqual(expected);
  });
});
