import { describe, expect, it } from 'vitest';
import { load, problemsOf } from './testing/load.ts';

const FILE = '/home/ada/.talaria/config.json';

describe('flags', () => {
  it('take their value after a space or an equals sign, and the last one counts', () => {
    expect(load({ argv: ['--port', '1', '--max-steps=2', '--port=3'] }).config).toMatchObject({
      port: 3,
      maxSteps: 2,
    });
  });

  it('switch booleans', () => {
    expect(load({ argv: ['--allow-network', '--port', '1'] }).config).toMatchObject({
      allowNetwork: true,
      port: 1,
    });
    expect(load({ argv: ['--allow-network=off'] }).config.allowNetwork).toBe(false);
    const env = { TALARIA_ALLOW_NETWORK: 'true' };
    expect(load({ argv: ['--no-allow-network'], env }).config.allowNetwork).toBe(false);
  });

  it('may be given a value that starts with dashes', () => {
    expect(load({ argv: ['--instructions=--be brief'] }).config.instructions).toBe('--be brief');
  });

  it.each([
    [['--port'], '--port has no value; allowed: an integer from 0 to 65535'],
    [['--port', '--max-steps=1'], '--port has no value; allowed: an integer from 0 to 65535'],
    [['--model='], '--model has no value; allowed: one line of text of 1 to 256 characters'],
    [['--config'], '--config has no value; allowed: the path of a JSON file'],
    [['--port', '-1'], '--port is "-1"; allowed: an integer from 0 to 65535'],
    [['--approval-isolated', 'ask'], 'unknown flag --approval-isolated; did you mean --approvals-isolated?'],
    [['--max-run', '3'], 'unknown flag --max-run; did you mean --max-run-seconds or --max-run-tokens?'],
    [['--no-port'], 'unknown flag --no-port; did you mean --port?'],
    [['--zzzzzz'], 'unknown flag --zzzzzz'],
    [['extra'], 'unexpected argument "extra": settings are given as --name value'],
  ])('refuse %j', (argv, problem) => {
    expect(problemsOf({ argv })).toEqual([problem]);
  });
});

describe('the environment', () => {
  it('warns of names it does not know', () => {
    const env = {
      TALARIA_MAX_STEP: '1',
      TALARIA_ZZZZZZZZZZZZ: 's3cret',
      API_SERVER_KYE: 's3cret',
      PATH: '/bin',
    };
    expect(load({ env }).warnings).toEqual([
      'unknown environment variable TALARIA_MAX_STEP; did you mean TALARIA_MAX_STEPS?',
      'unknown environment variable TALARIA_ZZZZZZZZZZZZ',
      'unknown environment variable API_SERVER_KYE; did you mean API_SERVER_KEY?',
    ]);
  });

  it.each([
    ['TALARIA_MAX_RUN', 'TALARIA_MAX_RUN_SECONDS or TALARIA_MAX_RUN_TOKENS'],
    ['TALARIA_MAX_CONCURRENT', 'TALARIA_MAX_CONCURRENT_RUNS'],
    ['TALARIA_APPROVAL_TIMEOUT', 'TALARIA_APPROVAL_TIMEOUT_SECONDS'],
    ['TALARIA_SLOT', 'TALARIA_SLOTS'],
    ['TALARIA_PORT', 'API_SERVER_PORT'],
    ['TALARIA_HOST', 'API_SERVER_HOST'],
    ['TALARIA_API_KEYS', 'API_SERVER_KEYS'],
    ['TALARIA_MODEL_NAME', 'API_SERVER_MODEL_NAME'],
  ])('suggests for %s what it may stand for', (name, meant) => {
    const warning = `unknown environment variable ${name}; did you mean ${meant}?`;
    expect(load({ env: { [name]: '1' } }).warnings).toEqual([warning]);
  });

  it.each(['TALARIA_GOAT', 'TALARIA_BASEURL', 'TALARIA_KUBERNETES'])('suggests nothing for %s', (name) => {
    expect(load({ env: { [name]: '1' } }).warnings).toEqual([`unknown environment variable ${name}`]);
  });

  it('ignores the variables of other programs', () => {
    expect(
      load({
        env: { API_SERVER_ENABLED: 'true', OPENAI_ORG_ID: 'x', TALARIA_NONE: '', TALARIA_FAILPOINTS: 'x' },
      }).warnings,
    ).toEqual([]);
  });

  it('ignores the variables of its clients', () => {
    expect(load({ env: { TALARIA_API_KEY: 'x', TALARIA_BASE_URL: 'http://h' } }).warnings).toEqual([]);
  });
});

describe('the file', () => {
  it('nests keys with a dot', () => {
    const files = { [FILE]: '\ufeff{"approvals": {"isolated": "skip", "unisolated": "skip"}}' };
    expect(load({ files }).config).toMatchObject({ approvalsIsolated: 'skip', approvalsUnisolated: 'skip' });
  });

  it.each([
    ['{"max_step": 1}', `unknown key max_step in ${FILE}; did you mean max_steps?`],
    [
      '{"approvals": {"isolatd": "ask"}}',
      `unknown key approvals.isolatd in ${FILE}; did you mean approvals.isolated?`,
    ],
    [
      '{"approvals": {"never": "rm"}}',
      `unknown key approvals.never in ${FILE}; approvals has the keys isolated, unisolated, allow, ask, deny`,
    ],
    ['{"max_run": 1}', `unknown key max_run in ${FILE}; did you mean max_run_seconds or max_run_tokens?`],
    [
      '{"approvals.isolated": "ask"}',
      `unknown key approvals.isolated in ${FILE}; write it nested: {"approvals": {"isolated": …}}`,
    ],
    [
      '{"approvals": "ask"}',
      `approvals in ${FILE} must be an object with the keys isolated, unisolated, allow, ask, deny`,
    ],
    ['{"__proto__": {"port": 1}}', `unknown key __proto__ in ${FILE}`],
    ['[]', `${FILE} must hold one JSON object, like {"port": 8642}`],
    ['null', `${FILE} must hold one JSON object, like {"port": 8642}`],
    ['{\n  "port": 1\n  "host": "x"\n}', `${FILE} is not valid JSON: line 3 column 3`],
    ['', `${FILE} is not valid JSON`],
  ])('refuses %j', (text, problem) => {
    expect(problemsOf({ files: { [FILE]: text } })).toEqual([problem]);
  });
});
