import { afterEach, describe, expect, it, vi } from 'vitest';
import { Talaria } from './talaria.ts';
import { json, serve } from './testing/test-server.ts';

afterEach(() => vi.unstubAllEnvs());

describe('the base URL', () => {
  it.each([
    ['http://h:1', 'http://h:1'],
    ['http://h:1/', 'http://h:1'],
    ['http://h:1/v1', 'http://h:1'],
    ['https://h/talaria/v1/', 'https://h/talaria'],
    ['https://h/v1beta', 'https://h/v1beta'],
    ['http://h/?x=1#y', 'http://h'],
  ])('%s is %s', (given, baseUrl) => {
    expect(new Talaria({ baseUrl: given }).baseUrl).toBe(baseUrl);
  });

  it.each(['', 'h:1', 'ftp://h', 'http://user:geheim@h', 'http://user@h'])('%j is refused', (baseUrl) => {
    expect(() => new Talaria({ baseUrl })).toThrow(/^baseUrl must be an http or https URL/);
  });

  it('defaults to that of a local server, or to the one in the environment', () => {
    expect(new Talaria().baseUrl).toBe('http://127.0.0.1:8642');
    vi.stubEnv('TALARIA_BASE_URL', 'http://other:1');
    expect(new Talaria().baseUrl).toBe('http://other:1');
    expect(new Talaria({ baseUrl: 'http://h' }).baseUrl).toBe('http://h');
  });
});

describe('the key', () => {
  const sent = async (options: object) => {
    const { client, asked } = await serve((response) => json(response, 200, {}), {
      apiKey: undefined,
      ...options,
    });
    await client.models.list();
    return asked[0]!.headers.authorization;
  };

  it("comes from the environment, Talaria's variable before Hermes's, unless one is given or null", async () => {
    expect(await sent({})).toBeUndefined();
    vi.stubEnv('HERMES_API_KEY', 'sk-hermes');
    expect(await sent({})).toBe('Bearer sk-hermes');
    vi.stubEnv('TALARIA_API_KEY', 'sk-talaria');
    expect(await sent({})).toBe('Bearer sk-talaria');
    expect(await sent({ apiKey: 'sk-given' })).toBe('Bearer sk-given');
    expect(await sent({ apiKey: null })).toBeUndefined();
    expect(await sent({ apiKey: '' })).toBeUndefined();
  });

  it('is not read where there is no environment, or where reading it is not allowed', () => {
    vi.stubGlobal('process', undefined);
    expect(new Talaria().baseUrl).toBe('http://127.0.0.1:8642');
    vi.stubGlobal('process', {
      get env(): never {
        throw new Error('not allowed');
      },
    });
    expect(new Talaria().baseUrl).toBe('http://127.0.0.1:8642');
    vi.unstubAllGlobals();
  });
});
