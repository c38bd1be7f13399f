import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TestTerminal } from '../../packages/server/src/cli/testing/test-terminal.ts';
import { openUi } from '../../packages/server/src/cli/ui.ts';
import { HostedServer } from '../support/hosted-server.ts';

let server: HostedServer;
beforeAll(async () => {
  server = await HostedServer.start({ env: { API_SERVER_KEY: 'the-key-of-this-server' } });
});
afterAll(async () => server[Symbol.asyncDispose]());

const BROWSER = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${server.url}${path}`, { headers, redirect: 'manual' });

describe('the page', () => {
  test('a browser that asks for the server is sent there; a program gets the answer it always got', async () => {
    const redirect = await get('/', BROWSER);
    expect([redirect.status, redirect.headers.get('location')]).toEqual([302, 'ui/']);
    const stranger = await get('/');
    expect(await stranger.json()).toMatchObject({ error: { code: 'invalid_api_key' } });
    const program = await get('/', { authorization: 'Bearer the-key-of-this-server' });
    expect([program.status, await program.json()]).toMatchObject([404, { error: { code: 'not_found' } }]);
  });

  test('it loads without a key, and allows nothing from elsewhere', async () => {
    const page = await get('/ui/', BROWSER);
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const policy = page.headers.get('content-security-policy')!.split('; ');
    expect(policy).toEqual(
      expect.arrayContaining([
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
      ]),
    );
    expect(policy.join()).not.toMatch(/unsafe|https?:|\*/);
    expect(await page.text()).toContain('<base href="./" />');
  });

  test('every address of the page knows its way back, so that it works under any path', async () => {
    expect(await (await get('/ui/runs/run_1', BROWSER)).text()).toContain('<base href="../" />');
    expect(await (await get('/ui/approve/run_1/q_1', BROWSER)).text()).toContain('<base href="../../" />');
    expect(await (await get('/ui/chats/team%2Fone?a=/', BROWSER)).text()).toContain('<base href="../" />');
  });

  test('its files are compressed and kept by browsers, and one that is gone is a 404', async () => {
    const html = await (await get('/ui/', BROWSER)).text();
    const script = /src="\.\/(assets\/[^"]+\.js)"/.exec(html)?.[1];
    const file = await get(`/ui/${script}`, { 'accept-encoding': 'gzip' });
    expect(file.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(file.headers.get('content-encoding')).toBe('gzip');
    const etag = file.headers.get('etag')!;
    expect((await get(`/ui/${script}`, { 'if-none-match': etag })).status).toBe(304);
    expect((await get('/ui/assets/index-of-yesterday.js')).status).toBe(404);
    expect((await get('/ui/%2e%2e%2fpackage.json')).status).toBe(404);
  });

  test('a setting switches it off', async () => {
    await using without = await HostedServer.start({ env: { TALARIA_UI: 'false' } });
    for (const path of ['/', '/ui/']) {
      expect((await fetch(without.url + path, { headers: BROWSER, redirect: 'manual' })).status).toBe(404);
    }
    const opened = openUi({ server: without.url, print: true }, new TestTerminal());
    await expect(opened).rejects.toThrow('has no web page (404)');
  });

  test('talaria ui prints the address of the page with the key behind its #', async () => {
    const terminal = new TestTerminal({ TALARIA_API_KEY: 'key & more' });
    await openUi({ server: server.url, print: true }, terminal);
    expect(terminal.stdout.written).toBe(`${server.url}/ui/#key=key+%26+more\n`);
    const { hash } = new URL(terminal.stdout.written);
    expect(new URLSearchParams(hash.slice(1)).get('key')).toBe('key & more');
  });
});
