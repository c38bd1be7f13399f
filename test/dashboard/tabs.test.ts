import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { script } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { browser, describeInBrowser } from './support/browser.ts';
import { type DashboardServer, startDashboardServer } from './support/dashboard-server.ts';

let dash: DashboardServer;
beforeAll(async () => {
  dash = await startDashboardServer({
    env: { TALARIA_APPROVALS_UNISOLATED: 'ask', TALARIA_APPROVALS_ISOLATED: 'ask' },
  });
});
afterAll(async () => dash[Symbol.asyncDispose]());

/** Open event streams, as the server counts them. */
async function streams(): Promise<number> {
  const { platforms } = await dash.client.health.detailed();
  return (platforms.api_server as { subscribers?: number }).subscribers ?? 0;
}

const isLive = (page: Page) => page.locator('.connection.good').waitFor();

/** A browser opens six connections to a server at most, so seven pages with a stream each would wait for one another. */
const MANY = 7;

describeInBrowser('tabs of one browser', () => {
  const stayLive = async (count: number) => {
    const { context, page: first, problems } = await browser.open();
    const tabs = [first];
    while (tabs.length < count) tabs.push(await context.newPage());
    // One after another: the first becomes the reader.
    for (const page of tabs) {
      await page.goto(dash.ui());
      await isLive(page);
    }
    await waitFor('one stream', async () => (await streams()) === 1);

    const { run_id } = await dash.client.runs.run({ input: 'Say hello' });
    for (const page of tabs) await page.locator(`[data-run="${run_id}"]`).getByText('done').waitFor();

    await first.close();
    await waitFor('the next reader', async () => (await streams()) === 1);
    const ask = script([{ tools: [{ name: 'terminal', arguments: { command: 'rm -rf out' } }] }]);
    const asking = await dash.client.runs.create({ input: ask });
    const [second, ...others] = tabs.slice(1);
    for (const page of tabs.slice(1)) await page.getByRole('article').waitFor();
    await second!.getByRole('button', { name: 'Once' }).click();
    for (const page of others) await page.getByText(/^Allowed once, by/).waitFor();
    expect((await dash.client.runs.wait(asking.run_id)).status).toBe('completed');
    expect(await streams()).toBe(1);
    expect(problems).toEqual([]);
  };
  const liveTitle = '%i of them stay live over one stream, also when the tab that reads it is closed';
  test.each([3])(liveTitle, stayLive);
  test.each([MANY])(liveTitle, { tags: ['soak'] }, stayLive);

  const showWhatComes = async (count: number) => {
    const { context, page: home, problems } = await browser.open();
    await home.goto(dash.ui());
    await isLive(home);
    const watch = async (name: string) => {
      const chunks = [`Begin ${name}`, { gate: `tabs of ${count}` }, ` and end ${name}`, { gate: 'never' }];
      const { run_id } = await dash.client.runs.create({ input: script([{ chunks }]) });
      const page = await context.newPage();
      return { name, run_id, page };
    };
    const says = (page: Page, text: string) => page.locator('.row.text', { hasText: text }).waitFor();
    const link = (page: Page, word: string) => page.locator('.run-facts .link', { hasText: word }).waitFor();

    const watched: Awaited<ReturnType<typeof watch>>[] = [];
    for (let n = 1; n <= count; n++) {
      const one = await watch(`${n}`);
      await one.page.goto(dash.ui(`runs/${one.run_id}`));
      await says(one.page, `Begin ${n}`);
      expect(await one.page.evaluate('document.hidden')).toBe(false);
      watched.push(one);
    }
    const [first, fourth, last] = [watched[0], watched[3], watched.at(-1)];
    await link(first!.page, 'live');
    await link(last!.page, 'every 2 s');
    // The feed, and three runs.
    await waitFor('four streams', async () => (await streams()) === 4);
    dash.model.open(`tabs of ${count}`);
    for (const { page, name } of watched) await says(page, `end ${name}`);

    // A page that closes leaves its place to another.
    for (const { page } of watched.slice(0, 3)) await page.close();
    await link(fourth!.page, 'live');
    await last!.page.getByRole('button', { name: 'Stop' }).click();
    await last!.page.getByText('The run was stopped.').waitFor();
    for (const { run_id } of watched.slice(0, -1)) await dash.client.runs.stop(run_id);
    for (const { page } of watched.slice(3)) await page.getByText('The run was stopped.').waitFor();
    expect(problems).toEqual([]);
  };
  const visibleTitle = '%i visible pages of runs all show what comes, over four connections';
  test.each([4])(visibleTitle, showWhatComes);
  test.each([MANY])(visibleTitle, { tags: ['soak'] }, showWhatComes);

  test('where a browser has no locks, the page with the focus has a stream, and any other asks', {
    tags: ['soak'],
  }, async () => {
    const { page } = await browser.openNew();
    await page.addInitScript(
      'delete Navigator.prototype.locks; document.hasFocus = () => globalThis.focused',
    );
    const chunks = ['Begin', { gate: 'focus' }, ' and end', { gate: 'never' }];
    const { run_id } = await dash.client.runs.create({ input: script([{ chunks }]) });
    await page.goto(dash.ui(`runs/${run_id}`));
    const link = (word: string) => page.locator('.run-facts .link', { hasText: word }).waitFor();
    await link('every 2 s');
    await page.evaluate('globalThis.focused = true');
    await link('live');
    await page.evaluate('globalThis.focused = false; dispatchEvent(new Event("blur"))');
    await link('every 2 s');
    dash.model.open('focus');
    await page.locator('.row.text', { hasText: 'Begin and end' }).waitFor();
    await dash.client.runs.stop(run_id);
    await page.getByText('The run was stopped.').waitFor();
  });
});
