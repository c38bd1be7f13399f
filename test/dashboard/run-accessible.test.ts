/** axe finds nothing on the page of a run: on a desk and on a phone, with every panel. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { script } from '../support/model-server.ts';
import { DARK_PHONE, type Look, looksBut, violationsIn } from './support/a11y.ts';
import { browser, describeInBrowser } from './support/browser.ts';
import { type DashboardServer, startDashboardServer } from './support/dashboard-server.ts';

let dash: DashboardServer;
let runId: string;
beforeAll(async () => {
  dash = await startDashboardServer();
  const terminal = (command: string) => ({ name: 'terminal', arguments: { command } });
  const input = `Everything at once\n${script([
    {
      reasoning: 'Hm.',
      text: '# Title\n\n- a\n- b\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```js\nconst a = "b"; // c\n```\n\n> quote `code` [link](https://example.com)\n',
      tools: [
        terminal('printf "\\033[31mred \\033[32mgreen \\033[33myellow \\033[90mgrey\\033[0m\\n"; exit 1'),
      ],
    },
    { tools: [{ name: 'write_file', arguments: { path: 'a/b.csv', content: 'x,y\n1,2\n' } }] },
    { tools: [{ name: 'patch', arguments: { path: 'a/b.csv', old_string: '1', new_string: '3' } }] },
    { tools: [terminal('rm -rf build')] },
    { text: 'Done.' },
  ])}`;
  runId = (await dash.client.runs.create({ input })).run_id;
});
afterAll(async () => dash[Symbol.asyncDispose]());

const TRANSCRIPT = '[aria-label="Transcript"]';
const INSPECTOR = 'aside[aria-label="Inspector"]';

async function isAccessible({ colorScheme, viewport }: Look): Promise<void> {
  const { page } = await browser.open({ colorScheme, viewport });
  /** All of the page, or the part of it that has changed since. */
  const look = async (within?: string) => expect(await violationsIn(page, within)).toEqual([]);
  await page.goto(dash.ui(`runs/${runId}`));
  await page.locator('button.primary:not([aria-disabled])', { hasText: 'Once' }).waitFor();
  await look();
  await page.getByRole('region', { name: 'Transcript' }).evaluate((list) => list.scrollTo(0, 0));
  await page.getByRole('button', { name: /thought/ }).click();
  await look(TRANSCRIPT);
  await page
    .getByRole('button', { name: /Inspect terminal/ })
    .first()
    .click();
  await page.getByRole('tabpanel').getByText('exit 1', { exact: true }).waitFor();
  // A chosen call is marked in the transcript, too.
  await look();
  for (const tab of ['Files', 'Events', 'Run']) {
    await page.getByRole('tab', { name: tab }).click();
    if (tab === 'Files') await page.getByRole('tabpanel').getByRole('button', { name: 'b.csv' }).click();
    await look(INSPECTOR);
  }
  // Nothing is wider than the page.
  expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
}

describeInBrowser('axe', () => {
  const title = 'finds nothing with $colorScheme colours on a screen of $viewport.width points';
  test.each([DARK_PHONE])(title, isAccessible);
  test.each(looksBut(DARK_PHONE))(title, { tags: ['soak'] }, isAccessible);
});
