/** The files of a run as they were at an event, and what changed between two. */
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { script } from '../support/model-server.ts';
import { LIGHT_DESK, looksBut, violationsOf } from './support/a11y.ts';
import { browser, describeInBrowser } from './support/browser.ts';
import { type DashboardServer, startDashboardServer } from './support/dashboard-server.ts';

let dash: DashboardServer;
beforeAll(async () => {
  dash = await startDashboardServer();
});
afterAll(async () => dash[Symbol.asyncDispose]());

const terminal = (command: string) => ({ name: 'terminal', arguments: { command } });
const write = (path: string, content: string) => ({ name: 'write_file', arguments: { path, content } });

/** Three steps that change files, and an answer. */
const STEPS = [
  { tools: [write('note.txt', 'one\n'), write('old-name.txt', 'the same\n')] },
  {
    tools: [
      terminal('printf "one\\ntwo\\n" > note.txt; mv old-name.txt new-name.txt; printf "\\0" > data.bin'),
    ],
  },
  { tools: [terminal('rm note.txt')] },
  { text: 'Done.' },
];

async function changedRun(): Promise<{ runId: string; lastOfStep: (step: number) => number }> {
  const { run_id } = await dash.client.runs.run({ input: script(STEPS) });
  const ends: number[] = [];
  for await (const { event, seq } of dash.client.runs.streamEvents(run_id)) {
    if (event === 'step.completed') ends.push(seq);
    if (event === 'tool.completed') ends[ends.length - 1] = seq;
  }
  return { runId: run_id, lastOfStep: (step) => ends[step - 1]! };
}

async function openFiles(runId: string, event?: number): Promise<{ page: Page; problems: string[] }> {
  const { page, problems } = await browser.open();
  const query = event === undefined ? '' : `?event=${event}`;
  await page.goto(`${dash.server.url}/ui/runs/${runId}${query}#key=${dash.key}`);
  await page.getByRole('tab', { name: 'Files' }).click();
  return { page, problems };
}

/** The rest of the page is that of any run. */
const INSPECTOR = 'aside[aria-label="Inspector"]';

const panel = (page: Page) => page.getByRole('tabpanel');
const show = (page: Page, name: string) => panel(page).getByRole('button', { name, exact: true }).click();
const changes = (page: Page) => panel(page).getByRole('region', { name: 'Changed files' });

describeInBrowser('the files of a run', () => {
  test('are those of the event that the reader went to, and of now after that', async () => {
    const { runId, lastOfStep } = await changedRun();
    const { page, problems } = await openFiles(runId, lastOfStep(1));
    await panel(page)
      .getByText(`as of event ${lastOfStep(1)}`)
      .waitFor();
    await panel(page).getByRole('button', { name: 'note.txt' }).click();
    await panel(page).getByText('one', { exact: true }).waitFor();
    // The key of the next step leads there: the same file as it was then, and then its end.
    await page.keyboard.press('.');
    await page.keyboard.press('.');
    await panel(page)
      .getByText(/^one\s+two\s*$/)
      .waitFor();
    await show(page, 'Now');
    await panel(page).getByText('There is no such file at this point.').waitFor();
    await show(page, '‹ Back');
    await panel(page).getByRole('button', { name: 'new-name.txt' }).waitFor();
    expect(await panel(page).getByRole('button', { name: 'note.txt' }).count()).toBe(0);
    expect(new URL(page.url()).searchParams.has('event')).toBe(false);

    // Dragging along the timeline leads through them.
    const { x, y, width } = (await page.getByRole('slider', { name: 'Place in the run' }).boundingBox())!;
    await page.mouse.move(x + width - 2, y + 5);
    await page.mouse.down();
    await page.mouse.move(x + 1, y + 5, { steps: 8 });
    await page.mouse.up();
    await panel(page).getByText('There were no files then.').waitFor();
    expect(problems).toEqual([]);
  });

  test('say what changed: in the run, up to an event, and in one step', async () => {
    const { runId, lastOfStep } = await changedRun();
    const { page, problems } = await openFiles(runId);
    await show(page, 'Changes');
    // What was made and removed again is no change of the run.
    await changes(page).getByRole('button', { name: 'added new-name.txt' }).waitFor();
    expect(await changes(page).getByRole('button').count()).toBe(2);
    await changes(page).locator('.added', { hasText: 'the same' }).waitFor();
    await changes(page).getByRole('button', { name: 'added data.bin' }).click();
    await changes(page).getByText('This file is not text.').waitFor();
    expect(await violationsOf(page, INSPECTOR)).toEqual([]);

    const download = page.waitForEvent('download');
    await show(page, 'Download the patch');
    expect(await readFile(await (await download).path(), 'utf8')).toContain('+++ b/new-name.txt');

    await page.goto(`${dash.server.url}/ui/runs/${runId}?event=${lastOfStep(2)}`);
    await page.getByRole('tab', { name: 'Files' }).click();
    await show(page, 'This step');
    await changes(page).getByRole('button', { name: 'renamed old-name.txt → new-name.txt' }).click();
    await changes(page).getByText('It was old-name.txt; its content is the same.').waitFor();
    const note = changes(page).locator('.line', { hasText: 'two' });
    await note.waitFor();
    expect([await note.getAttribute('class'), await note.getAttribute('data-number')]).toEqual([
      'line added numbered',
      '2',
    ]);
    expect(await violationsOf(page, INSPECTOR)).toEqual([]);

    // The next step, by its key.
    await page.keyboard.press('.');
    await changes(page).getByRole('button', { name: 'deleted note.txt' }).waitFor();
    await page.keyboard.press('.');
    await panel(page).getByText('Step 4 has changed no file.').waitFor();
    expect(problems).toEqual([]);
  });

  test('their changes are accessible in every look', { tags: ['soak'] }, async () => {
    const { runId, lastOfStep } = await changedRun();
    const { page } = await openFiles(runId, lastOfStep(2));
    for (const shown of ['Changes', 'This step']) {
      await show(page, shown);
      await changes(page).locator('.line.added').first().waitFor();
      expect(await violationsOf(page, INSPECTOR, looksBut(LIGHT_DESK))).toEqual([]);
    }
  });

  test('a call says what its step changed, and leads to the lines', async () => {
    const { runId } = await changedRun();
    const { page, problems } = await browser.open();
    await page.goto(dash.ui(`runs/${runId}`));
    const call = page.locator('.row.tool', { hasText: 'rm note.txt' });
    await call.getByRole('button', { name: /Inspect/ }).click();
    const section = panel(page).getByRole('region', { name: 'Changed files' });
    await section.getByRole('heading', { name: 'Changed by step 3' }).waitFor();
    await section.getByText('note.txt', { exact: true }).waitFor();
    await section.getByRole('button', { name: 'Show the changes' }).click();
    await changes(page).locator('.line.removed', { hasText: 'two' }).waitFor();
    expect(problems).toEqual([]);
  });

  test('a fork from an event begins with the files of then', async () => {
    const { runId, lastOfStep } = await changedRun();
    const { page, problems } = await openFiles(runId, lastOfStep(1));
    await show(page, 'Fork from here…');
    const dialog = page.getByRole('dialog', { name: `Fork the run at event ${lastOfStep(1)}` });
    await dialog.getByText('the files as they were after this event').waitFor();
    await dialog.getByLabel(/Your next message/).fill(script([{ text: 'A fork.' }]));
    await dialog.getByRole('button', { name: 'Start the fork' }).click();
    await page.waitForURL((url) => url.pathname.includes('/runs/run_') && !url.pathname.endsWith(runId));
    await page.getByText('The run is done.').waitFor();
    const fork = new URL(page.url()).pathname.split('/').at(-1)!;
    const { data } = await dash.client.runs.artifacts.list(fork);
    expect(data.map(({ path }) => path).sort()).toEqual(['note.txt', 'old-name.txt']);
    expect(problems).toEqual([]);
  });

  test('a change of many files and long lines is bounded, and shown where one looks', {
    tags: ['soak'],
  }, async () => {
    const many = 'mkdir many; for i in $(seq 1 1500); do echo $i > many/file-$i.txt; done';
    const long = 'seq 1 20000 > long.txt; head -c 3000000 /dev/zero | tr "\\0" "x" > large.txt';
    const { run_id } = await dash.client.runs.run({
      input: script([{ tools: [terminal(many)] }, { tools: [terminal(long)] }, { text: 'Done.' }]),
    });
    const { page, problems } = await openFiles(run_id);
    await show(page, 'Changes');
    await panel(page).getByText('1502 files').waitFor();
    expect(await page.locator('*').count()).toBeLessThan(2_500);
    await changes(page).getByRole('button', { name: 'added large.txt' }).click();
    await changes(page).getByText('It has more than 2 MB').waitFor();
    await changes(page).getByRole('button', { name: 'added long.txt' }).click();
    await changes(page).locator('.line', { hasText: /^1$/ }).waitFor();
    expect(await page.locator('*').count()).toBeLessThan(2_500);
    await changes(page).evaluate((list) => list.scrollTo(0, list.scrollHeight / 3));
    await expect.poll(() => changes(page).locator('.line').count()).toBeGreaterThan(0);
    expect(await page.locator('*').count()).toBeLessThan(2_500);
    expect(problems).toEqual([]);
  });

  test('hostile names and lines are shown as text', async () => {
    const name = '<img src=x onerror=globalThis.hacked=1>.txt';
    const { run_id } = await dash.client.runs.run({
      input: script([
        { tools: [write(name, '<script>globalThis.hacked=1</script> \u202egpj\n')] },
        { text: 'ok' },
      ]),
    });
    const { page, problems } = await openFiles(run_id);
    await show(page, 'Changes');
    await changes(page).getByText(name).waitFor();
    await changes(page).locator('.line', { hasText: '<script>' }).getByText('U+202E').waitFor();
    expect(await page.evaluate('globalThis.hacked')).toBeUndefined();
    expect(await page.locator('main img, main script').count()).toBe(0);
    expect(problems).toEqual([]);
  });
});

describeInBrowser('a server that keeps no files', () => {
  test('says so where the files of then are asked for, and still shows those of now', async () => {
    await using without = await startDashboardServer({ env: { TALARIA_CHECKPOINTS: 'off' } });
    const { run_id } = await without.client.runs.run({ input: script(STEPS) });
    const { page, problems } = await browser.open();
    await page.goto(without.ui(`runs/${run_id}`));
    await page.getByRole('tab', { name: 'Files' }).click();
    await panel(page).getByRole('button', { name: 'new-name.txt' }).waitFor();
    await show(page, 'Changes');
    await panel(page).getByText('The server has not kept the files of this point.').waitFor();
    await show(page, 'All files');
    await page.keyboard.press(',');
    await panel(page).getByText('The server has not kept the files of this point.').waitFor();
    expect(await panel(page).getByRole('alert').count()).toBe(0);
    expect(problems).toEqual([]);
  });
});
