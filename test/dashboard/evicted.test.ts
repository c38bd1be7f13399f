/** Runs whose events are gone: the list, the run page, the chat and the rules still tell that they were there. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { script } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { LIGHT_DESK, looksBut, violationsOf } from './support/a11y.ts';
import { browser, describeInBrowser } from './support/browser.ts';
import { type DashboardServer, startDashboardServer } from './support/dashboard-server.ts';

let dash: DashboardServer;
beforeAll(async () => {
  dash = await startDashboardServer({
    env: {
      TALARIA_RUN_RETENTION_SECONDS: '1',
      TALARIA_APPROVALS_UNISOLATED: 'ask',
      TALARIA_APPROVALS_ISOLATED: 'ask',
    },
  });
});
afterAll(async () => dash[Symbol.asyncDispose]());

const isEvicted = (runId: string) =>
  waitFor('the eviction', async () => (await dash.client.runs.head(runId)).evicted === true);

describeInBrowser('an evicted run', () => {
  test('is marked in the list, also while somebody looks, and its page says what is left', async () => {
    const { page, problems } = await browser.open();
    await page.goto(dash.ui());
    const input = script([{ text: 'the answer' }]);
    const { run_id } = await dash.client.runs.create({ input });
    const row = page.locator(`[data-run="${run_id}"]`);
    await row.getByText('done').waitFor();
    await row.getByText('evicted').waitFor();
    await row.getByRole('link').click();
    await page.getByText('The server has deleted the events, the files and the answer').waitFor();
    expect(await page.locator('.problem').count()).toBe(0);
    await page.getByText('its events are deleted').waitFor();
    expect(await page.locator('.asked').innerText()).toContain(input);
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole('button', { name: 'Retry' }).click();
    await page.waitForURL((url) => !url.pathname.endsWith(run_id));
    await page.getByText('The run is done.').waitFor();
    // The next one is evicted while its page is open: what was read stays.
    await page.getByText('The server has deleted the events and the files').waitFor();
    await page
      .getByRole('paragraph')
      .filter({ hasText: /^the answer$/ })
      .waitFor();
    expect(await violationsOf(page)).toEqual([]);
    expect(problems).toEqual([]);
  });

  test('is accessible in every look', { tags: ['soak'] }, async () => {
    const input = script([{ chunks: ['Begin', { gate: 'opened' }, ' and end'] }]);
    const { run_id } = await dash.client.runs.create({ input });
    const { page } = await browser.open();
    await page.goto(dash.ui(`runs/${run_id}`));
    await page.locator('.row.text', { hasText: 'Begin' }).waitFor();
    dash.model.open('opened');
    for (const deleted of ['the events and the files', 'the events, the files and the answer']) {
      await page.getByText(`The server has deleted ${deleted}`).waitFor();
      expect(await violationsOf(page, undefined, looksBut(LIGHT_DESK))).toEqual([]);
      await page.reload();
    }
  });

  test('that failed keeps its reason, on its page and in its chat', async () => {
    const input = script([{ error: { status: 400, message: 'no such thing' } }]);
    const { run_id } = await dash.client.runs.create({ input, session_id: 'talk' });
    await isEvicted(run_id);
    const { page, problems } = await browser.open();
    await page.goto(dash.ui(`runs/${run_id}`));
    await page.locator('.problem', { hasText: 'no such thing' }).waitFor();
    await page.getByRole('link', { name: 'What was said in its session' }).click();
    await page.waitForURL(/\/chats\/talk$/);
    await page.locator('.turns .problem', { hasText: 'no such thing' }).waitFor();
    await page.getByRole('link', { name: 'Its runs' }).click();
    await page.locator(`[data-run="${run_id}"]`).getByText('evicted').waitFor();
    expect(await page.locator('[data-run]').count()).toBe(1);
    expect(problems).toEqual([]);
  });

  test('keeps the answers to its questions, in the rules and where somebody was called to one', async () => {
    const ask = script([
      { tools: [{ name: 'terminal', arguments: { command: 'rm -rf out' } }] },
      { text: 'ok' },
    ]);
    const { run_id } = await dash.client.runs.create({ input: ask });
    const question = await waitFor('a question', async () => (await dash.client.runs.get(run_id)).approval);
    const { request_id } = question;
    await dash.client.runs.respondApproval(run_id, { choice: 'deny', request_id });
    await isEvicted(run_id);
    const { page, problems } = await browser.open();
    await page.goto(dash.ui('rules'));
    await page.getByText('rm -rf out', { exact: true }).waitFor();
    await page.goto(dash.ui(`approve/${run_id}/${request_id}`));
    await page.getByText('rm -rf out', { exact: true }).waitFor();
    expect(await page.getByRole('button', { name: 'Deny' }).count()).toBe(0);
    expect(problems).toEqual([]);
  });

  test('is none that somebody keeps, until that is taken back', async () => {
    const input = script([{ chunks: ['Begin', { gate: 'kept' }, ' and end'] }]);
    const { run_id } = await dash.client.runs.create({ input });
    const { page, problems } = await browser.open();
    await page.goto(dash.ui(`runs/${run_id}`));
    await page.getByRole('switch', { name: 'Keep' }).check();
    await page.getByText('kept until you take that back').waitFor();
    dash.model.open('kept');
    await page.getByText('The run is done.').waitFor();
    // One that ends later is gone before.
    const later = await dash.client.runs.create({ input: script([{ text: 'later' }]) });
    await isEvicted(later.run_id);
    await page.reload();
    await page.getByText('kept until you take that back').waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole('switch', { name: 'Keep' }).uncheck();
    await page.getByText('The server has deleted the events and the files').waitFor();
    expect(problems).toEqual([]);
  });

  test('that nobody knows is not found', async () => {
    const { page } = await browser.open();
    await page.goto(dash.ui('runs/run_0123456789abcdef0123456789abcdef'));
    await page.getByText('Run not found').waitFor();
  });
});
