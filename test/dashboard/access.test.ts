import { afterAll, beforeAll, expect, test } from 'vitest';
import { PlainServer } from '../support/plain-server/plain-server.ts';
import { browser, describeInBrowser, visit } from './support/browser.ts';
import { type DashboardServer, startDashboardServer } from './support/dashboard-server.ts';
import { startProxy } from './support/proxy.ts';

let dash: DashboardServer;
beforeAll(async () => {
  dash = await startDashboardServer();
});
afterAll(async () => dash[Symbol.asyncDispose]());

describeInBrowser('the key', () => {
  test('without one the page asks, a wrong one is named as such, and a right one is remembered on request', async () => {
    const { page, context, problems } = await browser.openNew();
    await page.goto(dash.server.url);
    await page.getByLabel('API key').fill('a-wrong-key-of-nobody');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('The server does not accept this key.').waitFor();
    await page.getByLabel('API key').fill(dash.key);
    await page.getByLabel('Remember it in this browser').check();
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor();
    await page.getByText('There is no run yet.').waitFor();
    const another = await context.newPage();
    await another.goto(`${dash.server.url}/ui/`);
    await another.getByRole('heading', { name: 'Runs', exact: true }).waitFor();
    expect(await page.evaluate('Object.values(localStorage)')).toEqual([dash.key]);
    expect(problems).toEqual([]);
  });

  test('a link with another key asks before its key replaces the one of this browser, and only in this tab', async () => {
    const { page, context, problems } = await browser.openNew();
    await page.goto(dash.server.url);
    await page.getByLabel('API key').fill(dash.key);
    await page.getByLabel('Remember it in this browser').check();
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('There is no run yet.').waitFor();
    const link = `${dash.server.url}/ui/#key=the-key-of-somebody-else`;
    for (const path of ['', 'approve/run_0/apr_1']) {
      const other = await context.newPage();
      await other.goto(`${dash.server.url}/ui/${path}#key=the-key-of-somebody-else`);
      await other.getByText('brings another API key').waitFor();
      expect(other.url()).not.toContain('somebody');
      await other.close();
    }
    await page.goto(link);
    await page.getByRole('button', { name: 'Keep my key' }).click();
    await page.getByText('There is no run yet.').waitFor();
    await page.goto(link);
    await page.getByRole('button', { name: 'in this tab' }).click();
    await page.getByText('The server does not accept this key.').waitFor();
    expect(await page.evaluate('Object.values(localStorage)')).toEqual([dash.key]);
    expect(problems.filter((problem) => !problem.includes('401'))).toEqual([]);
  });

  test('a key that is revoked while the page is open ends at the sign-in, without an empty list', async () => {
    // The proxy stands in for the server after the key was taken away.
    await using refusing = await PlainServer.start({ key: 'the-key-of-somebody-else' });
    // With the request that the test makes: any earlier one could bring the page to the sign-in before there is a filter.
    let revoked = false;
    await using proxy = await startProxy({
      target: (path) => {
        revoked ||= path.includes('status=failed');
        return revoked && !path.startsWith('/ui') ? refusing.url : dash.server.url;
      },
    });
    const { page } = await browser.open();
    await page.goto(`${proxy.url}/ui/#key=${dash.key}`);
    await page.locator('.connection.good').waitFor();
    await page.getByText('There is no run yet.').waitFor();
    await page.getByLabel('State').selectOption('failed');
    await page.getByText('The server does not accept this key.').waitFor();
    expect(await page.getByText('No run matches').count()).toBe(0);
  });
});

describeInBrowser('other servers', () => {
  test('one that cannot list runs is named as such on every page, and can still be used', async () => {
    await using plain = await PlainServer.start();
    await using proxy = await startProxy({
      target: (path) => (path.startsWith('/ui') ? dash.server.url : plain.url),
    });
    const { page, problems } = await browser.open();
    await page.goto(`${proxy.url}/ui/`);
    await page.getByRole('alert').getByText('This server does not have this part of the API.').waitFor();
    expect(await page.getByText('There is no run yet.').count()).toBe(0);
    await page.getByText('not live').waitFor();
    for (const path of ['chats', 'rules', 'server', 'jobs']) {
      await visit(page, path);
      await page.getByRole('heading', { level: 1, name: new RegExp(path, 'i') }).waitFor();
    }
    await visit(page, '');
    await page.keyboard.press('n');
    await page.getByRole('dialog').getByLabel('Prompt').fill('Hello, older server');
    await page.getByRole('button', { name: 'Start the run' }).click();
    await page.waitForURL(/\/ui\/runs\/run_/);
    await page.locator('.row.text', { hasText: 'Hello, older server' }).waitFor();
    await page.getByText('The run is done.').waitFor();
    // It has no files to attach, and does not say so.
    expect(await page.getByRole('button', { name: 'Attach files' }).count()).toBe(0);
    expect(plain.lastRun).toBeDefined();
    expect(problems).toEqual([]);
  });

  test('several can be listed, kept in this browser, and switched to; each asks for its own key', async () => {
    await using other = await startDashboardServer();
    const { page, problems } = await browser.openNew();
    await page.goto(dash.ui());
    const settings = page.getByRole('button', { name: 'Settings' });
    const add = async (address: string) => {
      await page.getByLabel('Address of another server').fill(address);
      await page.getByRole('button', { name: 'Add' }).click();
    };
    await settings.click();
    for (const wrong of ['javascript:alert(1)', dash.server.url]) {
      await add(wrong);
      await page.getByText('This is not the address of another server.').waitFor();
    }
    await add(other.server.url);
    const link = page.getByRole('link', { name: new URL(other.server.url).host });
    await link.waitFor();
    await page.reload();
    await settings.click();
    await link.click();
    await page.waitForURL(`${other.server.url}/ui/`);
    await page.getByLabel('API key').waitFor();
    await page.goBack();
    await settings.click();
    await page.getByRole('button', { name: `Remove ${new URL(other.server.url).host}` }).click();
    await link.waitFor({ state: 'detached' });
    expect(problems).toEqual([]);
  });

  test('a lost connection is shown as one of the page, and never as a state of a run', async () => {
    let up = true;
    await using proxy = await startProxy({
      target: () => (up ? dash.server.url : 'http://127.0.0.1:1'),
    });
    const { run_id } = await dash.client.runs.create({ input: 'Say hello' });
    await dash.client.runs.wait(run_id);
    const { page } = await browser.open();
    await page.goto(`${proxy.url}/ui/#key=${dash.key}`);
    await page.locator('.connection.good').waitFor();
    up = false;
    proxy.cutAll();
    await page.getByText('reconnecting…').waitFor();
    const row = page.locator(`[data-run="${run_id}"]`);
    expect(await row.getAttribute('data-status')).toBe('completed');
    up = true;
    await page.locator('.connection.good').waitFor();
  });
});

describeInBrowser('a proxy', () => {
  test('may end TLS and serve the page under a path of its own', async () => {
    await using proxy = await startProxy({
      tls: true,
      prefix: '/agents/one',
      target: () => dash.server.url,
    });
    const { page, problems } = await browser.open({ ignoreHTTPSErrors: true });
    await page.goto(`${proxy.url}/#key=${dash.key}`);
    await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor();
    expect(page.url()).toBe(`${proxy.url}/ui/`);
    await page.getByRole('button', { name: 'New run' }).click();
    await page.getByRole('dialog').getByLabel('Prompt').fill('Hello through the proxy');
    await page.getByRole('button', { name: 'Start the run' }).click();
    await page.waitForURL(`${proxy.url}/ui/runs/run_*`);
    await page.reload();
    await page.getByRole('link', { name: 'Talaria' }).click();
    await page.getByRole('link', { name: 'Hello through the proxy' }).waitFor();
    await page.getByRole('link', { name: 'Server', exact: true }).click();
    await page.getByRole('cell', { name: 'store' }).waitFor();
    expect(page.url()).toBe(`${proxy.url}/ui/server`);
    await page.locator('.connection.good').waitFor();
    // The page of one question is another file.
    await page.goto(`${proxy.url}/ui/approve/run_${'0'.repeat(32)}/apr_1`);
    await page.getByText('This run is gone').waitFor();
    await page.getByRole('link', { name: 'All runs' }).click();
    await page.getByRole('link', { name: 'Hello through the proxy' }).waitFor();
    expect(problems).toEqual([]);
  });
});
