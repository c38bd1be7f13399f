/** Long runs: few nodes in the page, and a reader who is left alone. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { script } from '../support/model-server.ts';
import { browser, describeInBrowser } from './support/browser.ts';
import { type DashboardServer, startDashboardServer } from './support/dashboard-server.ts';
import { writeLongRun } from './support/long-run.ts';

const EVENTS = 5_000;
const MANY_EVENTS = 100_000;
const NODES_MAX = 2_500;

const dataDir = mkdtempSync(join(tmpdir(), 'talaria-long-run-'));
let dash: DashboardServer;
let runId: string;
beforeAll(async () => {
  runId = await writeLongRun(dataDir, EVENTS);
  dash = await startDashboardServer({ dataDir, env: { API_SERVER_KEY: '' } });
});
afterAll(async () => {
  await dash[Symbol.asyncDispose]();
  rmSync(dataDir, { recursive: true, force: true });
});

const nodes = (page: Page) => page.locator('*').count();
const transcript = (page: Page) => page.getByRole('region', { name: 'Transcript' });
const atEnd = (page: Page) =>
  transcript(page).evaluate((list) => list.scrollHeight - list.scrollTop - list.clientHeight < 60);

describeInBrowser(`a run of ${EVENTS} events`, () => {
  test('shows its end first, then all of it, with few nodes wherever one looks', async () => {
    const { page, problems } = await browser.open();
    await page.goto(dash.ui(`runs/${runId}`));
    await page.getByText('The run is done.').waitFor();
    await page.getByText('all events read').waitFor();
    await expect.poll(() => atEnd(page)).toBe(true);
    expect(await nodes(page)).toBeLessThan(NODES_MAX);
    await transcript(page).evaluate((list) => list.scrollTo(0, 0));
    await page.getByText('word 0 word 1').waitFor();
    expect(await nodes(page)).toBeLessThan(NODES_MAX);
    await transcript(page).evaluate((list) => list.scrollTo(0, list.scrollHeight / 2));
    await expect.poll(() => transcript(page).innerText()).toMatch(/word \d{4} /);
    await page.getByRole('tab', { name: 'Events' }).click();
    await page.getByRole('region', { name: 'Events' }).getByText('message.delta').first().waitFor();
    expect(await nodes(page)).toBeLessThan(NODES_MAX);
    await page.getByRole('button', { name: /To the end/ }).click();
    await page.getByText('The run is done.').waitFor();
    expect(problems).toEqual([]);
  });

  test('a link leads to its event, and the keys from step to step', async () => {
    const { page } = await browser.open();
    const seq = 40 * 100 + 38;
    await page.goto(`${dash.server.url}/ui/runs/${runId}?event=${seq}`);
    const row = page.locator(`.row.target[data-seq="${seq}"]`);
    await row.waitFor();
    await row.getByText('echo 100').waitFor();
    await page.keyboard.press('.');
    await page.locator('.row.target[data-seq="4040"]').getByText('Step 102').waitFor();
    await page.keyboard.press(',');
    await page.locator('.row.target[data-seq="4000"]').getByText('Step 101').waitFor();
    expect(new URL(page.url()).searchParams.get('event')).toBe('4000');
  });
});

describeInBrowser(`a run of ${MANY_EVENTS} events`, () => {
  test('is all there, from the first word to the last, with as few nodes', { tags: ['soak'] }, async () => {
    const longDir = mkdtempSync(join(tmpdir(), 'talaria-long-run-'));
    onTestFinished(() => rmSync(longDir, { recursive: true, force: true }));
    const path = `runs/${await writeLongRun(longDir, MANY_EVENTS)}`;
    await using long = await startDashboardServer({ dataDir: longDir, env: { API_SERVER_KEY: '' } });
    const { page } = await browser.open();
    await page.goto(long.ui(path));
    await page.getByText('The run is done.').waitFor();
    expect(await nodes(page)).toBeLessThan(NODES_MAX);
    await page.getByText('all events read').waitFor();
    expect(await nodes(page)).toBeLessThan(NODES_MAX);
    await transcript(page).evaluate((list) => list.scrollTo(0, 0));
    await page.getByText('word 0 word 1').waitFor();
    expect(await nodes(page)).toBeLessThan(NODES_MAX);
  });
});

describeInBrowser('a reader', () => {
  test('at the end follows the run, and anywhere else stays in place', async () => {
    const lines = Array.from({ length: 60 }, (_, i) => `Paragraph ${i}.\n\n`);
    const chunks = [...lines, { gate: 'more' }, 'And more.\n\n', 'A last one.', { gate: 'end' }, ' Truly.'];
    const { run_id } = await dash.client.runs.create({ input: script([{ chunks }]) });
    const { page } = await browser.open();
    await page.goto(dash.ui(`runs/${run_id}`));
    await page.getByText('Paragraph 59.').waitFor();
    await expect.poll(() => atEnd(page)).toBe(true);
    await transcript(page).hover();
    await page.mouse.wheel(0, -600);
    await page.getByRole('button', { name: /To the end/ }).waitFor();
    const before = await transcript(page).evaluate((list) => list.scrollTop);
    dash.model.open('more');
    await page.getByRole('button', { name: /\d new/ }).waitFor();
    expect(await transcript(page).evaluate((list) => list.scrollTop)).toBe(before);
    await page.getByRole('button', { name: /\d new/ }).click();
    await page.getByText('A last one.').waitFor();
    dash.model.open('end');
    await page.getByText('The run is done.').waitFor();
    await expect.poll(() => atEnd(page)).toBe(true);
  });
});
