import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { script } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { LIGHT_DESK, type Look, looksBut, overflows, violationsOf } from './support/a11y.ts';
import { browser, describeInBrowser, visit, type Watched } from './support/browser.ts';
import { type DashboardServer, startDashboardServer } from './support/dashboard-server.ts';

const HOSTILE =
  '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script> [x](javascript:window.hacked=1) ![i](https://evil.example/i.png) \u001b[31mred\u001b[0m \u202egpj.exe\u202c';

let dash: DashboardServer;
let runId: string;
let requestId: string;
beforeAll(async () => {
  dash = await startDashboardServer({
    env: { TALARIA_APPROVALS_UNISOLATED: 'ask', TALARIA_APPROVALS_ISOLATED: 'ask' },
  });
  const { client } = dash;
  await client.runs.run({ input: `Hello ${HOSTILE}`, session_id: 'talk <b>' });
  await client.runs.run({ input: `Fail\n${script([{ error: { status: 400, message: HOSTILE } }])}` });
  await client.jobs.create({
    name: `Nightly ${HOSTILE.replace(/\u001b/g, '')}`,
    schedule: '0 9 * * 1-5',
    prompt: HOSTILE,
  });
  const command = `rm -rf build # ${HOSTILE}`;
  const ask = script([{ tools: [{ name: 'terminal', arguments: { command } }] }]);
  const answered = await client.runs.create({ input: ask, session_id: 'talk <b>' });
  const question = async (id: string) =>
    (await waitFor('a question', async () => (await client.runs.get(id)).approval)).request_id;
  await client.runs.respondApproval(answered.run_id, {
    choice: 'always',
    request_id: await question(answered.run_id),
  });
  await client.runs.wait(answered.run_id);
  for await (const { id } of client.grants.list()) await client.grants.revoke(id);
  runId = (await client.runs.create({ input: ask })).run_id;
  requestId = await question(runId);
});
afterAll(async () => dash[Symbol.asyncDispose]());

/** Each page, with something that only it shows. */
const pages: readonly [path: () => string, shows: (page: Page) => Promise<unknown>][] = [
  [() => 'nowhere', (page) => page.getByText('There is no such page').waitFor()],
  [() => '', (page) => page.getByRole('article').waitFor()],
  [() => 'chats', (page) => page.getByText('Choose a session').waitFor()],
  [() => 'chats/talk%20%3Cb%3E', (page) => page.getByText('You said:').first().waitFor()],
  [
    () => 'jobs',
    (page) => page.getByRole('article', { name: 'Nightly' }).getByRole('listitem').first().waitFor(),
  ],
  [() => 'rules', (page) => page.getByRole('cell', { name: /Allowed always/ }).waitFor()],
  [() => 'server', (page) => page.getByText('As numbers').first().waitFor()],
  [() => `runs/${runId}`, (page) => page.getByRole('region', { name: 'Transcript' }).waitFor()],
  [() => `approve/${runId}/${requestId}`, (page) => page.getByRole('article').waitFor()],
];

/** Looks at all of them with axe, and at what opens in them. */
function lookAtEveryPage(looks: readonly Look[], options: { tags?: string[] } = {}): void {
  // One for all of them: loading it, and axe in it, takes longer than looking at most of them.
  let opened: Watched;
  beforeAll(async () => {
    opened = await browser.openForAll();
  });
  afterAll(() => opened.context.close());

  async function go(path: string): Promise<Page> {
    const { page } = opened;
    // The page of an approval is another document.
    const isLoaded = page.url() !== 'about:blank' && !`${page.url()} ${path}`.includes('approve/');
    if (isLoaded) await visit(page, path);
    else await page.goto(dash.ui(path));
    return page;
  }
  const violations = (within?: string) => violationsOf(opened.page, within, looks);

  test('the sign-in is accessible', options, async () => {
    const { page } = opened;
    await page.goto(`${dash.server.url}/ui/`);
    await page.getByLabel('API key').waitFor();
    expect(await violations()).toEqual([]);
    await page.getByLabel('API key').fill(dash.key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('article').waitFor();
  });

  // A test for each: axe takes long on a busy machine.
  test.each(pages.map(([path, shows], n) => ({ n, path, shows })))(
    'no. $n is accessible, keeps to its policy, and shows hostile text as text',
    options,
    async ({ path, shows }) => {
      const page = await go(path());
      await shows(page);
      expect(await page.locator('#app img, #app script, #app iframe').count(), path()).toBe(0);
      expect(await page.locator('a[href^="javascript:"]').count(), path()).toBe(0);
      expect(opened.problems, path()).toEqual([]);
      expect(await overflows(page), path()).toBe(false);
      expect(await violations(), path()).toEqual([]);
      expect(await page.evaluate('window.hacked')).toBeUndefined();
    },
  );

  test(
    'a card is accessible in each of its states: always with its scope, and a refusal with its reason',
    options,
    async () => {
      const page = await go('');
      const card = page.getByRole('article');
      await card.locator('button.primary:not([aria-disabled])').waitFor();
      // A command cannot hide its end behind characters that turn text around.
      expect(await page.locator('.command').textContent()).toContain('U+202Egpj.exeU+202C');
      await card.getByRole('button', { name: 'Always…' }).click();
      await card.getByText(/no run of this API key is asked again/).waitFor();
      expect(await violations('article')).toEqual([]);
      await card.getByRole('button', { name: 'Back' }).click();
      await card.getByRole('button', { name: 'Deny and say why' }).click();
      await card.getByLabel('What should the agent know?').waitFor();
      expect(await violations('article')).toEqual([]);
      await card.getByRole('button', { name: 'Back' }).click();
    },
  );

  test('the dialogs are accessible, and the keyboard opens them', options, async () => {
    const page = await go('');
    await page.getByRole('article').waitFor();
    for (const key of ['?', 'n', 'Control+k']) {
      await page.keyboard.press(key);
      await page.getByRole('dialog').waitFor();
      expect(await violations('dialog'), key).toEqual([]);
      await page.keyboard.press('Escape');
      await page.locator('dialog').waitFor({ state: 'detached' });
    }
    await page.getByRole('checkbox').first().check();
    await page.getByRole('button', { name: 'Stop it…' }).click();
    await page.getByRole('dialog').waitFor();
    // Behind it are the bar and the row of a chosen run, which no other test looks at.
    expect(await violations()).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'Jobs' }).click();
    await page.getByRole('button', { name: 'New job' }).click();
    await page.getByRole('dialog').waitFor();
    expect(await violations('dialog')).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Settings' }).click();
    expect(await violations('dialog')).toEqual([]);
    await page.getByLabel('Dark').check();
    expect(await page.evaluate('document.documentElement.dataset.theme')).toBe('dark');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').waitFor();
    expect(await page.evaluate('Object.values({ ...sessionStorage, ...localStorage })')).toEqual(['dark']);
  });
}

describeInBrowser('every page', () => lookAtEveryPage([LIGHT_DESK]));
describeInBrowser('every page with the other looks', () =>
  lookAtEveryPage(looksBut(LIGHT_DESK), { tags: ['soak'] }),
);
