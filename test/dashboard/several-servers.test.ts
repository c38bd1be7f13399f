/** The page of a server that shares its store with others. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type SharedPostgres,
  sharedPostgres,
} from '../../packages/server/src/journal/postgres/testing/start-postgres.ts';
import { violationsOf } from './support/a11y.ts';
import { browser, describeInBrowser } from './support/browser.ts';
import { startDashboardServer } from './support/dashboard-server.ts';

let postgres: SharedPostgres;
beforeAll(async () => {
  postgres = await sharedPostgres();
});
afterAll(() => postgres?.stop());

describeInBrowser('several servers on one store', () => {
  test('the page names them all, and shows a run that another one works on', async () => {
    const env = { TALARIA_DATABASE_URL: await postgres.createDatabase() };
    await using first = await startDashboardServer({ env });
    await using second = await startDashboardServer({ env });
    const { page, problems } = await browser.open();
    await page.goto(first.ui('server'));
    const row = (url: string) => page.locator('tr', { hasText: new URL(url).port });
    await row(first.server.url).getByText('this one').waitFor();
    await row(second.server.url).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole('link', { name: 'Runs', exact: true }).click();
    const { run_id } = await second.client.runs.create({ input: 'Say hello' });
    await page.locator(`[data-run="${run_id}"]`).getByText('done').waitFor();
    expect(problems).toEqual([]);
  });
});
