import { describe, expect, it } from 'vitest';
import { configSecrets, describeConfig } from '../describe.ts';
import { load, problemsOf } from '../testing/load.ts';

const FILE = '/home/ada/.talaria/config.json';

function fromFile(json: object) {
  return { files: { [FILE]: JSON.stringify(json) } };
}

describe('integers', () => {
  it.each(['0', '65535', ' 80 '])('reads %j', (text) => {
    expect(load({ env: { API_SERVER_PORT: text } }).config.port).toBe(Number(text));
  });

  it.each(['-1', '65536', '1.5', '1e3', '0x50', 'eighty', ' '])('refuses %j', (text) => {
    expect(problemsOf({ env: { API_SERVER_PORT: text } })).toEqual([
      `API_SERVER_PORT is "${text}"; allowed: an integer from 0 to 65535`,
    ]);
  });

  it.each(['8642', 1.5, null, true, [1], {}])('refuses %j in a file', (value) => {
    expect(problemsOf(fromFile({ port: value }))).toEqual([
      `port in ${FILE} is ${JSON.stringify(value)}; allowed: an integer from 0 to 65535`,
    ]);
  });
});

describe('time zones', () => {
  it.each(['UTC', 'Europe/Berlin', ' Australia/Lord_Howe '])('reads %j', (text) => {
    expect(load({ env: { TALARIA_TIMEZONE: text } }).config.timezone).toBe(text.trim());
  });

  it.each(['Mars/Olympus', '+02:00', 'CEST?', ' '])('refuses %j', (text) => {
    expect(problemsOf({ env: { TALARIA_TIMEZONE: text } })).toEqual([
      `TALARIA_TIMEZONE is "${text}"; allowed: the name of a time zone, such as Europe/Berlin or UTC`,
    ]);
  });

  it("default to the machine's time zone", () => {
    expect(load({}).config.timezone).toBe(new Intl.DateTimeFormat().resolvedOptions().timeZone);
  });
});

describe('seconds', () => {
  it('may be fractions', () => {
    expect(load({ env: { TALARIA_APPROVAL_TIMEOUT_SECONDS: '0.5' } }).config.approvalTimeoutSeconds).toBe(
      0.5,
    );
    expect(load(fromFile({ drain_seconds: 2.5 })).config.drainSeconds).toBe(2.5);
  });

  it.each(['5m', '-1', 'Infinity', '2147484'])('refuse %j', (text) => {
    expect(problemsOf({ argv: [`--max-run-seconds=${text}`] })).toEqual([
      `--max-run-seconds is "${text}"; allowed: a number of seconds from 1 to 2147483`,
    ]);
  });
});

describe('booleans', () => {
  it.each([
    ['true', true],
    ['YES', true],
    ['1', true],
    ['on', true],
    ['false', false],
    ['no', false],
    ['0', false],
    ['Off', false],
  ])('read %j as %j', (text, value) => {
    expect(load({ env: { TALARIA_ALLOW_NETWORK: text } }).config.allowNetwork).toBe(value);
  });

  it('refuse other words, and strings in a file', () => {
    expect(problemsOf({ env: { TALARIA_ALLOW_NETWORK: 'maybe' } })).toEqual([
      'TALARIA_ALLOW_NETWORK is "maybe"; allowed: true or false',
    ]);
    expect(problemsOf(fromFile({ allow_network: 'true' }))).toEqual([
      `allow_network in ${FILE} is "true"; allowed: true or false`,
    ]);
    expect(load(fromFile({ allow_network: true })).config.allowNetwork).toBe(true);
  });
});

describe('choices', () => {
  it('ignore case', () => {
    expect(load({ env: { TALARIA_LOG_LEVEL: 'WARN' } }).config.logLevel).toBe('warn');
  });

  it('say which words there are', () => {
    expect(problemsOf({ argv: ['--backend', 'firecracker'] })).toEqual([
      '--backend is "firecracker"; allowed: local, docker, kubernetes, modal or nomad',
    ]);
  });
});

describe('strings', () => {
  it('are one line, except instructions', () => {
    expect(load({ env: { TALARIA_INSTRUCTIONS: 'Be brief.\nBe kind.' } }).config.instructions).toContain(
      '\n',
    );
    expect(problemsOf({ env: { TALARIA_MODEL: 'a\nb' } })).toEqual([
      'TALARIA_MODEL is "a\\nb"; allowed: one line of text of 1 to 256 characters',
    ]);
    expect(problemsOf(fromFile({ model: '' }))).toHaveLength(1);
  });

  it('are shortened in a message', () => {
    const [problem] = problemsOf({ env: { TALARIA_MODEL: 'x'.repeat(5000) } });
    expect(problem!.length).toBeLessThan(300);
  });
});

describe('hosts', () => {
  const env = { API_SERVER_KEY: 'a-long-enough-key' };

  it.each(['0.0.0.0', '::', 'runs.example.com', 'my_host', 'fe80::1%eth0'])('reads %s', (host) => {
    expect(load({ env: { ...env, API_SERVER_HOST: host } }).config.host).toBe(host);
  });

  it('takes an IPv6 address in brackets', () => {
    expect(load({ env: { API_SERVER_HOST: '[::1]' } }).config.host).toBe('::1');
  });

  it.each(['http://localhost', 'localhost:80', '127.1', '256.0.0.1', 'a b', '-x', '*'])(
    'refuses %s',
    (host) => {
      expect(problemsOf({ env: { ...env, API_SERVER_HOST: host } })).toEqual([
        `API_SERVER_HOST is "${host}"; allowed: an IP address or a host name, without scheme or port`,
      ]);
    },
  );
});

describe('the provider URL', () => {
  it('is kept without its trailing slash', () => {
    const env = { OPENAI_BASE_URL: 'http://localhost:11434/v1/' };
    expect(load({ env }).config.openaiBaseUrl).toBe('http://localhost:11434/v1');
  });

  it.each(['localhost:11434', 'ftp://host/v1', 'https://host/v1?x=1', 'nonsense'])('is not %s', (url) => {
    expect(problemsOf({ env: { OPENAI_BASE_URL: url } })[0]).toMatch(
      /^OPENAI_BASE_URL is ".*; allowed: an http:/,
    );
  });

  it('never shows a password', () => {
    for (const url of [
      'https://bob:s3cret@host/v1',
      'htps:/bob:s3cret@host',
      'https://h/?key=s3cret',
      'bob:s3/cr@et@h',
    ]) {
      const problems = problemsOf({ env: { OPENAI_BASE_URL: url } });
      expect(problems).toHaveLength(1);
      expect(problems[0]).toContain('***');
      expect(problems[0]).not.toMatch(/s3|cret|et@/);
    }
  });
});

describe('CORS origins', () => {
  const read = (text: string) => load({ env: { API_SERVER_CORS_ORIGINS: text } }).config.corsOrigins;

  it('are what a browser sends', () => {
    expect(read('https://App.example.com:443/, http://localhost:3000,,http://localhost:3000')).toEqual([
      'https://app.example.com',
      'http://localhost:3000',
    ]);
    expect(load(fromFile({ cors_origins: ['http://a.b'] })).config.corsOrigins).toEqual(['http://a.b']);
  });

  it('may be everything', () => {
    expect(read('*')).toBe('*');
    expect(load(fromFile({ cors_origins: ['*'] })).config.corsOrigins).toBe('*');
  });

  it.each([
    ['https://a.b,example.com', 'entry 2 is not an origin'],
    ['https://a.b/path', 'entry 1 is not an origin'],
    ['https://*.a.b', 'entry 1 is not an origin'],
    ['null', 'entry 1 is not an origin'],
    ['https://a.b,*', '* stands alone'],
  ])('refuse %s', (text, reason) => {
    expect(problemsOf({ argv: ['--cors-origins', text] })).toEqual([
      `--cors-origins is "${text}": ${reason}; allowed: * or a list of origins like https://app.example.com or http://localhost:3000`,
    ]);
  });
});

describe('the database URL', () => {
  const read = (url: string) => load({ env: { TALARIA_DATABASE_URL: url } }).config.database;

  it.each([
    ['sqlite:///var/lib/t.db', '/var/lib/t.db'],
    ['sqlite:////var/lib/t.db', '/var/lib/t.db'],
    ['file:/var/t.db', '/var/t.db'],
    ['file:///var/my%20runs/t.db', '/var/my runs/t.db'],
  ])('reads %s', (url, path) => {
    expect(read(url)).toEqual({ kind: 'sqlite', path });
  });

  it.each([
    'file:t.db',
    'sqlite://t.db',
    'sqlite::memory:',
    '/var/t.db',
    'mysql://h/d',
    'sqlite:///a/',
    'sqlite:///%00',
  ])('refuses %s', (url) => {
    expect(problemsOf({ env: { TALARIA_DATABASE_URL: url } })[0]).toMatch(
      /^TALARIA_DATABASE_URL is ".*; allowed: sqlite:\/\/\/absolute/,
    );
  });

  it.each(['postgres', 'postgresql'])('takes %s, and shows it without its credentials', (scheme) => {
    const url = `${scheme}://bob:s3%40cret@db:5432/runs?password=other`;
    const { config } = load({ env: { TALARIA_DATABASE_URL: url } });
    expect(config.database).toEqual({ kind: 'postgres', url });
    const shown = describeConfig(config).find(([name]) => name === 'TALARIA_DATABASE_URL');
    expect(shown?.[1]).toBe('postgres://db:5432/runs');
    expect(configSecrets(config)).toEqual(expect.arrayContaining(['s3%40cret', 's3@cret', 'other']));
  });

  it('takes a password with an escaped %, and explains an unescaped one', () => {
    for (const url of ['postgres://bob:50%25ab@db/runs', 'postgres://bob@db/runs?password=50%25ab']) {
      const { config } = load({ env: { TALARIA_DATABASE_URL: url } });
      expect(configSecrets(config)).toEqual(expect.arrayContaining(['50%25ab', '50%ab']));
    }
    for (const url of ['postgres://bob:50%xy@db/runs', 'postgres://bob@db/runs?password=50%']) {
      const [problem] = problemsOf({ env: { TALARIA_DATABASE_URL: url } });
      expect(problem).toContain('a literal % has to be written as %25');
      expect(problem).not.toContain('50%');
    }
  });

  it('takes several hosts of one Postgres', () => {
    const url = 'postgres://bob:s3cret@a:5432,b/runs';
    const { config } = load({ env: { TALARIA_DATABASE_URL: url } });
    expect(config.database).toEqual({ kind: 'postgres', url });
    const shown = describeConfig(config).find(([name]) => name === 'TALARIA_DATABASE_URL');
    expect(shown?.[1]).toBe('postgres://a:5432,b/runs');
    expect(configSecrets(config)).toContain('s3cret');
  });

  it('takes a socket of Postgres by its directory', () => {
    const url = 'postgres:///runs?host=/run/postgresql&user=bob';
    expect(load({ env: { TALARIA_DATABASE_URL: url } }).config.database).toEqual({ kind: 'postgres', url });
  });

  it.each(['postgres://', 'postgres://db', 'postgres:///runs', 'postgres:nonsense', 'postgres://a,/runs'])(
    'refuses %s',
    (url) => {
      expect(problemsOf({ env: { TALARIA_DATABASE_URL: url } })[0]).toMatch(/^TALARIA_DATABASE_URL is "/);
    },
  );
});
