import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { script } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { browser, describeInBrowser } from './support/browser.ts';
import { type DashboardServer, startDashboardServer } from './support/dashboard-server.ts';
import { PHONE } from './support/sizes.ts';

const ASK = { TALARIA_APPROVALS_UNISOLATED: 'ask', TALARIA_APPROVALS_ISOLATED: 'ask' };
let dash: DashboardServer;
beforeAll(async () => {
  dash = await startDashboardServer({ env: ASK });
});
afterAll(async () => dash[Symbol.asyncDispose]());

/** A run that asks, and the path of its page. */
async function ask(of: DashboardServer, command = 'rm -rf build') {
  const { run_id } = await of.client.runs.create({
    input: `Tidy up\n${script([{ tools: [{ name: 'terminal', arguments: { command } }] }, { text: 'Done.' }])}`,
  });
  const { request_id } = await waitFor('a question', async () => (await of.client.runs.get(run_id)).approval);
  return { run_id, request_id, path: `approve/${run_id}/${request_id}` };
}

async function onPhone(address: string): Promise<{ page: Page; problems: string[] }> {
  const { page, problems } = await browser.open({ viewport: PHONE, hasTouch: true, isMobile: true });
  await page.goto(address);
  return { page, problems };
}

describeInBrowser('the approve page', () => {
  test('shows the whole command and takes an answer', async () => {
    const { run_id, path } = await ask(dash);
    const { page, problems } = await onPhone(dash.ui(path));
    await page.getByText('rm -rf build', { exact: true }).waitFor();
    expect(page.url()).toBe(`${dash.server.url}/ui/${path}`);
    await page.getByRole('button', { name: 'Once' }).tap();
    await page.getByText('Allowed once').waitFor();
    expect((await dash.client.runs.wait(run_id)).status).toBe('completed');
    expect(problems).toEqual([]);
  });

  test('says who answered before, and that a run is gone', async () => {
    const { run_id, request_id, path } = await ask(dash);
    await dash.client.runs.respondApproval(run_id, { choice: 'deny', request_id, message: 'not today' });
    await dash.client.runs.wait(run_id);
    const { page } = await onPhone(dash.ui(path));
    await page.getByText(/^Denied, by .+: “not today”$/).waitFor();
    expect(await page.getByRole('button').count()).toBe(0);
    await page.goto(dash.ui(`approve/run_${'0'.repeat(32)}/${request_id}`));
    await page.getByText('This run is gone').waitFor();
  });

  test('learns of an answer from elsewhere while it is open', async () => {
    const { run_id, request_id, path } = await ask(dash);
    const { page } = await onPhone(dash.ui(path));
    await page.getByRole('button', { name: 'Once' }).waitFor();
    await dash.client.runs.respondApproval(run_id, { choice: 'once', request_id });
    await page.getByText(/^Allowed once, by/).waitFor();
  });

  test('asks for the key where it is wrong, and then continues', async () => {
    const { path } = await ask(dash);
    const { page } = await onPhone(`${dash.server.url}/ui/${path}#key=wrong-key-wrong-key`);
    await page.getByText('The server does not accept this key.').waitFor();
    await page.getByLabel('API key').fill(dash.key);
    await page.getByRole('button', { name: 'Sign in' }).tap();
    await page.getByRole('button', { name: 'Deny', exact: true }).tap();
    await page.getByText('Denied').waitFor();
  });

  test('a question that expires while it is looked at says so', async () => {
    await using hasty = await startDashboardServer({
      env: { ...ASK, TALARIA_APPROVAL_TIMEOUT_SECONDS: '3' },
    });
    const { page } = await onPhone(hasty.ui());
    const { run_id } = await ask(hasty);
    await page.getByText(/^0:0\d left$/).waitFor();
    await page.getByText('Nobody answered in time: it counts as denied').waitFor();
    expect(await page.getByRole('button', { name: 'Once' }).count()).toBe(0);
    expect((await hasty.client.runs.wait(run_id)).status).toBe('completed');
  });
});
