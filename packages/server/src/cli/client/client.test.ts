import { describe, expect, it } from 'vitest';
import { settings } from '../../config/settings.ts';
import { shortIds } from './find-run.ts';
import { DEFAULT_URL, serverAddress } from './server-address.ts';

describe('the server', () => {
  const env = { TALARIA_BASE_URL: 'http://named:1', API_SERVER_HOST: '0.0.0.0', API_SERVER_PORT: '99' };

  it.each([
    ['--server first', 'http://given:1', env, 'http://given:1'],
    ['then TALARIA_BASE_URL', undefined, env, 'http://named:1'],
    ['then what serve listens on', undefined, { ...env, TALARIA_BASE_URL: '' }, 'http://127.0.0.1:99'],
    ['also by IPv6', undefined, { API_SERVER_HOST: '::' }, 'http://[::1]:8642'],
    ['with any host', undefined, { API_SERVER_HOST: 'fe80::1' }, 'http://[fe80::1]:8642'],
    ['else the default', undefined, {}, 'http://127.0.0.1:8642'],
  ])('is %s', (_, given, env, url) => {
    expect(serverAddress(given, env).url).toBe(url);
  });

  it('is by default where a server listens by default', () => {
    expect(DEFAULT_URL).toBe(`http://${settings.host.default}:${settings.port.default}`);
  });

  it('gets the key for clients; it gets the key of the local server only if it is that server', () => {
    const keys = { TALARIA_API_KEY: 'a', HERMES_API_KEY: 'b', API_SERVER_KEY: 'c' };
    expect(serverAddress(undefined, keys)).toMatchObject({ apiKey: 'a', keyName: 'TALARIA_API_KEY' });
    expect(serverAddress(undefined, { ...keys, TALARIA_API_KEY: '' }).keyName).toBe('HERMES_API_KEY');
    expect(serverAddress(undefined, { API_SERVER_KEY: 'c' })).toMatchObject({ apiKey: 'c' });
    expect(serverAddress('http://elsewhere', { API_SERVER_KEY: 'c' }).apiKey).toBeUndefined();
    expect(serverAddress(undefined, { ...env, API_SERVER_KEY: 'c' }).apiKey).toBeUndefined();
  });
});

describe('short ids', () => {
  const shorten = (...ids: string[]) => [...shortIds(ids.map((run_id) => ({ run_id }))).values()];
  const id = (start: string) => `run_${start.padEnd(32, '0')}`;

  it('have twelve digits', () => {
    expect(shorten(id('0193c7e8a1b2ff'), id('0193c7e8a1b3ff'))).toEqual([
      'run_0193c7e8a1b2',
      'run_0193c7e8a1b3',
    ]);
  });

  it('and more where two begin alike', () => {
    expect(shorten(id('0193c7e8a1b2f1'), id('0193c7e8a1b2f2'), id('1'))).toEqual([
      'run_0193c7e8a1b2f1',
      'run_0193c7e8a1b2f2',
      'run_10000000000000',
    ]);
  });
});
