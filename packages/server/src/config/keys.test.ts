import { describe, expect, it } from 'vitest';
import { configSecrets, describeConfig } from './describe.ts';
import { load, problemsOf } from './testing/load.ts';

const FILE = '/home/ada/.talaria/config.json';

describe('API keys', () => {
  it('join the single key, named default, with the named ones', () => {
    const { config } = load({ env: { API_SERVER_KEY: 'k-one', API_SERVER_KEYS: 'ada:k-two, bob:k:three' } });
    expect(config.apiKeys).toEqual([
      { name: 'default', key: 'k-one' },
      { name: 'ada', key: 'k-two' },
      { name: 'bob', key: 'k:three' },
    ]);
  });

  it('may be an object in a file', () => {
    const files = { [FILE]: '{"api_keys": {"ada": "one,two", "bob": "three"}}' };
    expect(load({ files }).config.apiKeys).toEqual([
      { name: 'ada', key: 'one,two' },
      { name: 'bob', key: 'three' },
    ]);
  });

  it.each([
    ['s3cret', 'entry 1 does not start with a valid name and a colon'],
    ['ada:s3cret,s3cret2', 'entry 2 does not start with a valid name and a colon'],
    ['a b:s3cret', 'entry 1 does not start with a valid name and a colon'],
    [`${'n'.repeat(65)}:s3cret`, 'entry 1 does not start with a valid name and a colon'],
    ['ada:', 'entry 1 (ada) has no valid key'],
    ['ada:s3 cret', 'entry 1 (ada) has no valid key'],
    ['ada:s3cret,ada:s3cret2', 'the name ada is given twice'],
    ['ada:s3cret,bob:s3cret', 'ada and bob have the same key'],
  ])('refuse %j without showing it', (text, reason) => {
    const problems = problemsOf({ env: { API_SERVER_KEYS: text } });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(`API_SERVER_KEYS is ***: ${reason}; allowed: name:key,name:key`);
    expect(problems[0]).not.toContain('s3');
  });

  it('refuse a single key that the named ones repeat', () => {
    expect(problemsOf({ env: { API_SERVER_KEY: 's3cret', API_SERVER_KEYS: 'default:other' } })).toEqual([
      'API_SERVER_KEY and API_SERVER_KEYS both use the name default; allowed: unique names and keys, where the key in API_SERVER_KEY is named default',
    ]);
    expect(problemsOf({ argv: ['--api-key', 's3cret'], env: { API_SERVER_KEYS: 'ada:s3cret' } })).toEqual([
      '--api-key and API_SERVER_KEYS both hold the same key; allowed: unique names and keys, where the key in --api-key is named default',
    ]);
  });
});

describe('listening beyond loopback', () => {
  it.each(['0.0.0.0', '::', '10.0.0.1', 'example.com', 'localhost.example.com'])(
    'on %s needs a key',
    (host) => {
      const problems = problemsOf({ argv: ['--host', host] });
      expect(problems).toHaveLength(1);
      expect(problems[0]).toMatch(
        /^--host is ".*no key is set.*set API_SERVER_KEY.*or listen on 127\.0\.0\.1$/,
      );
      expect(problemsOf({ argv: ['--host', host], env: { API_SERVER_KEYS: 'ada:k-one' } })).toEqual([]);
    },
  );

  it.each(['127.0.0.1', '127.9.9.9', '::1', '0:0:0:0:0:0:0:1', 'localhost', 'LOCALHOST', '::ffff:127.0.0.1'])(
    'is not what %s does',
    (host) => expect(problemsOf({ argv: ['--host', host] })).toEqual([]),
  );

  it('is not reported as a missing key when the key was only misspelt', () => {
    expect(problemsOf({ env: { API_SERVER_HOST: '0.0.0.0', API_SERVER_KEY: 'has space' } })).toEqual([
      'API_SERVER_KEY is ***; allowed: visible ASCII characters without spaces or line breaks',
    ]);
  });

  it('warns of a short key', () => {
    const env = { API_SERVER_HOST: '0.0.0.0', API_SERVER_KEY: 'short' };
    expect(load({ env }).warnings).toEqual([
      expect.stringContaining('the key named default has fewer than 16'),
    ]);
    expect(load({ env: { API_SERVER_KEY: 'short' } }).warnings).toEqual([]);
  });
});

it('warns when any web page could start runs', () => {
  const env = { API_SERVER_CORS_ORIGINS: '*' };
  expect(load({ env }).warnings).toEqual([
    expect.stringMatching(/^API_SERVER_CORS_ORIGINS is \* and no key/),
  ]);
  expect(load({ env: { ...env, API_SERVER_KEY: 'k' } }).warnings).toEqual([]);
});

describe('secrets', () => {
  const secrets = {
    API_SERVER_KEY: 's3cret-a',
    API_SERVER_KEYS: 'ada:s3cret-b',
    OPENAI_API_KEY: 's3cret-c',
    ANTHROPIC_API_KEY: 's3cret-d-longer',
    GOOGLE_GENERATIVE_AI_API_KEY: 's3cret-e',
    OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=s3cret-f',
  };

  it('are all named for masking', () => {
    const found = configSecrets(load({ env: secrets }).config);
    expect(found[0]).toBe('s3cret-d-longer');
    expect(found.sort()).toEqual([
      's3cret-a',
      's3cret-b',
      's3cret-c',
      's3cret-d-longer',
      's3cret-e',
      's3cret-f',
    ]);
    expect(configSecrets(load().config)).toEqual([]);
  });

  it('are not shown by a description', () => {
    const lines = describeConfig(load({ env: secrets }).config);
    expect(JSON.stringify(lines)).not.toContain('s3cret');
    expect(lines).toContainEqual(['API_SERVER_KEY', '***', 'environment']);
    expect(lines).toContainEqual(['API_SERVER_KEYS', 'ada:***', 'environment']);
    expect(lines).toContainEqual(['OPENAI_API_KEY', '***', 'environment']);
  });

  it('are not shown by a description when default is one of the named keys', () => {
    const lines = describeConfig(load({ env: { API_SERVER_KEYS: 'default:s3cret' } }).config);
    expect(lines).toContainEqual(['API_SERVER_KEY', undefined, 'default']);
    expect(lines).toContainEqual(['API_SERVER_KEYS', 'default:***', 'environment']);
  });

  it.each(Object.keys(secrets))('in %s are not shown by a problem', (env) => {
    const problems = problemsOf({ env: { [env]: 's3cret with space' } });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(new RegExp(`^${env} is \\*\\*\\*`));
    expect(problems[0]).not.toContain('s3cret');
  });

  it('in a file are not shown, whatever is wrong with it', () => {
    for (const text of [
      '{"api_key": "s3cret',
      '{"api_key": "s3cret"} x',
      '{"api_key": ["s3cret"]}',
      '{"api_kye": "s3cret"}',
      '{"api_keys": ["s3cret"]}',
    ]) {
      const problems = problemsOf({ files: { [FILE]: text } });
      expect(problems, text).toHaveLength(1);
      expect(problems[0]).not.toContain('s3cret');
    }
  });

  it('on the command line are not shown, however it was mistyped', () => {
    for (const argv of [
      ['--api-kye', 's3cret'],
      ['--api-kye=s3cret'],
      ['--api-key:s3cret'],
      ['--api-key', 'x', 's3cret'],
      ['--api-kye', 'x', 's3cret'],
      ['-k', 's3cret'],
    ]) {
      const problems = problemsOf({ argv });
      expect(problems.length, argv.join(' ')).toBeGreaterThan(0);
      expect(problems.join()).not.toContain('s3cret');
    }
  });

  it('on the command line are used, with a warning', () => {
    const { config, warnings } = load({ argv: ['--api-key', 's3cret'] });
    expect(config.apiKeys).toEqual([{ name: 'default', key: 's3cret' }]);
    expect(warnings).toEqual([
      '--api-key shows its secret in the list of processes; use API_SERVER_KEY or the file instead',
    ]);
  });
});
