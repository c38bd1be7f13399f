import { describe, expect, it } from 'vitest';
import { configSecrets, describeConfig } from './index.ts';
import { load, problemsOf } from './testing/load.ts';

const URL = 'https://hooks.example.com/t0ken?key=s3cret';
const SECRET = 'sixteen-letters!';

describe('the default webhook', () => {
  it('is a URL and a secret, neither of which is shown', () => {
    const { config, warnings } = load({
      env: { TALARIA_WEBHOOK_URL: URL, TALARIA_WEBHOOK_SECRET: SECRET },
    });
    expect(config).toMatchObject({ webhookUrl: URL, webhookSecret: SECRET, webhookAllowPrivate: false });
    expect(warnings).toEqual([]);
    expect(configSecrets(config)).toContain(SECRET);
    const shown = JSON.stringify(describeConfig(config));
    expect(shown).toContain('https://hooks.example.com/***');
    expect(shown).not.toMatch(/t0ken|s3cret|sixteen/);
  });

  it.each([
    ['ftp://hooks.example.com/', 'ftp://hooks.example.com/'],
    ['https://ada:pw@hooks.example.com/t0ken', 'https://hooks.example.com/***'],
    ['not a URL with a s3cret', '***'],
  ])('that is not such a URL is refused without showing what may be secret: %s', (url, shown) => {
    expect(problemsOf({ env: { TALARIA_WEBHOOK_URL: url } })).toEqual([
      expect.stringMatching(/^TALARIA_WEBHOOK_URL .*allowed: an http:\/\/ or https:\/\/ URL of up to 2048/),
    ]);
    const [problem] = problemsOf({ env: { TALARIA_WEBHOOK_URL: url } });
    expect(problem).toContain(`"${shown}"`);
    expect(problem).not.toMatch(/t0ken|s3cret|pw/);
  });

  it.each(['short', 'whsec_not*base64', 'has spaces in its middle'])(
    'with the bad secret %j is refused without showing it',
    (secret) => {
      const problems = problemsOf({ env: { TALARIA_WEBHOOK_URL: URL, TALARIA_WEBHOOK_SECRET: secret } });
      expect(problems).toEqual([expect.stringMatching(/^TALARIA_WEBHOOK_SECRET .*allowed: 16 to 256/)]);
      expect(problems[0]).not.toContain(secret);
    },
  );

  it('at a private address needs permission', () => {
    const env = { TALARIA_WEBHOOK_URL: 'http://localhost:3000/', TALARIA_WEBHOOK_SECRET: SECRET };
    expect(problemsOf({ env })).toEqual([
      expect.stringMatching(
        /^TALARIA_WEBHOOK_URL leads to localhost, which is not public; set TALARIA_WEBHOOK_ALLOW_PRIVATE to true/,
      ),
    ]);
    expect(load({ env: { ...env, TALARIA_WEBHOOK_ALLOW_PRIVATE: 'true' } }).warnings).toEqual([]);
  });

  it('without a secret, or a secret without a URL, causes a warning', () => {
    expect(load({ env: { TALARIA_WEBHOOK_URL: URL } }).warnings).toEqual([
      'TALARIA_WEBHOOK_URL is set and TALARIA_WEBHOOK_SECRET is not: its messages are not signed, and anyone could forge them',
    ]);
    expect(load({ env: { TALARIA_WEBHOOK_SECRET: SECRET } }).warnings).toEqual([
      'TALARIA_WEBHOOK_SECRET is set and TALARIA_WEBHOOK_URL is not: it signs nothing',
    ]);
  });
});
