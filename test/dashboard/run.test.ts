/** What the page of a run shows and does. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { script } from '../support/model-server.ts';
import { browser, describeInBrowser } from './support/browser.ts';
import { type DashboardServer, startDashboardServer } from './support/dashboard-server.ts';

let dash: DashboardServer;
beforeAll(async () => {
  dash = await startDashboardServer();
});
afterAll(async () => dash[Symbol.asyncDispose]());

/** A picture of one pixel. */
const DOT =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const terminal = (command: string) => ({ name: 'terminal', arguments: { command } });
const write = (path: string, content: string) => ({ name: 'write_file', arguments: { path, content } });

describeInBrowser('the page of a run', () => {
  test('says what a run in the queue waits for, until somebody works on it', async () => {
    await using busy = await startDashboardServer({ env: { TALARIA_MAX_CONCURRENT_RUNS: '1' } });
    await busy.client.runs.create({ input: script([{ gate: 'busy', text: 'first' }]) });
    await busy.model.waitingAt('busy');
    const { run_id } = await busy.client.runs.create({ input: script([{ text: 'Second.' }]) });
    const { page, problems } = await browser.open();
    await page.goto(busy.ui(`runs/${run_id}`));
    const facts = page.locator('.run-facts');
    await facts.getByText('1st in line, all workers are busy').waitFor();
    busy.model.open('busy');
    await facts.getByText('done').waitFor();
    expect(await facts.getByText('in line').count()).toBe(0);
    expect(problems).toEqual([]);
  });

  test('shows text, reasoning and tools; all of a call; and the files', async () => {
    const input = `Make the tests pass\n${script([
      {
        reasoning: 'Let me **look**.',
        text: 'I look at the *files*:\n\n- one\n- two\n',
        tools: [terminal('printf "\\033[31mred\\033[0m\\n"; exit 3')],
      },
      { tools: [write('a/data.csv', 'name,age\n"x, y",3\n'), write('main.py', 'def f():\n    return 1\n')] },
      {
        tools: [
          { name: 'patch', arguments: { path: 'main.py', old_string: 'return 1', new_string: 'return 2' } },
        ],
      },
      { text: 'All **done**.' },
    ])}`;
    const { run_id } = await dash.client.runs.create({ input });
    const { page, problems } = await browser.open({
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    await page.goto(dash.ui(`runs/${run_id}`));
    await page.getByText('The run is done.').waitFor();
    await page.locator('.row strong', { hasText: 'done' }).waitFor();
    expect(await page.locator('.row.text em').innerText()).toBe('files');
    await page.getByRole('button', { name: /thought/ }).click();
    await page.locator('.row.reasoning strong', { hasText: 'look' }).waitFor();
    expect(await page.locator('.row .ansi-red-fg').innerText()).toBe('red');
    expect(await page.locator('.diff .removed, .diff .added').allInnerTexts()).toEqual([
      'return 1',
      'return 2',
    ]);

    const row = page.locator('.row.tool', { hasText: 'terminal' });
    await row.getByRole('link', { name: /Link to event/ }).click();
    await row.getByText('copied').waitFor();
    const copied = new URL(await page.evaluate<string>('navigator.clipboard.readText()'));
    expect([copied.pathname, copied.search]).toEqual([
      `/ui/runs/${run_id}`,
      `?event=${await row.getAttribute('data-seq')}`,
    ]);

    const panel = page.getByRole('tabpanel');
    await page.getByRole('button', { name: /Inspect terminal/ }).click();
    await panel.getByText('exit 3', { exact: true }).waitFor();
    await panel.getByRole('searchbox').fill('RED');
    await panel.getByText('1 of 1').waitFor();
    await page.getByRole('tab', { name: 'Files' }).click();
    // The link led to an event: the files are those of then.
    await panel.getByText('There were no files then.').waitFor();
    await panel.getByRole('button', { name: 'Now' }).click();
    await panel.getByRole('button', { name: 'data.csv' }).click();
    await panel.getByRole('cell', { name: 'x, y' }).waitFor();
    const download = page.waitForEvent('download');
    await panel.getByRole('button', { name: 'Download' }).click();
    expect((await download).suggestedFilename()).toBe('data.csv');
    await panel.getByRole('button', { name: '‹ Back' }).click();
    const archive = page.waitForEvent('download');
    await panel.getByRole('button', { name: 'Download all' }).click();
    expect((await archive).suggestedFilename()).toBe(`${run_id}.zip`);
    const bytes = await readFile(await (await archive).path());
    for (const part of ['PK', 'a/data.csv', 'main.py']) expect(bytes.includes(part), part).toBe(true);
    await panel.getByRole('button', { name: 'main.py' }).click();
    await panel.locator('.hljs-keyword', { hasText: 'def' }).waitFor();

    // Dragging along the timeline leads through the run, and back.
    const { x, y, width } = (await page.getByRole('slider', { name: 'Place in the run' }).boundingBox())!;
    const told = page.locator('.timeline .place');
    const last = (await dash.client.runs.get(run_id)).last_seq!;
    await page.mouse.move(x + width - 2, y + 5);
    await page.mouse.down();
    await page.mouse.move(x + width / 2, y + 5, { steps: 5 });
    await expect.poll(() => told.innerText()).not.toContain(`event ${last} of`);
    await page.mouse.move(x + 1, y + 5, { steps: 5 });
    await told.getByText(`event 0 of ${last}`).waitFor();
    await page.mouse.up();
    await page.locator('.row.target[data-seq="0"]').first().waitFor();
    expect(new URL(page.url()).searchParams.get('event')).toBe('0');
    await page.mouse.click(x + width - 2, y + 5);
    await page.locator(`.row.end.target[data-seq="${last}"]`).waitFor();
    expect(problems).toEqual([]);
  });

  test('shows a picture', async () => {
    const { run_id } = await dash.client.runs.run({
      input: script([{ tools: [terminal(`printf %s '${DOT}' | base64 -d > dot.png`)] }, { text: 'There.' }]),
    });
    const { page, problems } = await browser.open();
    await page.goto(dash.ui(`runs/${run_id}`));
    await page.getByRole('tab', { name: 'Files' }).click();
    const panel = page.getByRole('tabpanel');
    await panel.getByRole('button', { name: 'dot.png' }).click();
    const picture = panel.getByRole('img', { name: 'dot.png' });
    await expect
      .poll(() => picture.evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth))
      .toBe(1);
    expect(problems).toEqual([]);
  });

  test('writes a large file to disk as it comes', { tags: ['soak'] }, async () => {
    const make = 'truncate -s 60M large.bin; truncate -s 600M huge.bin';
    const { run_id } = await dash.client.runs.run({
      input: script([{ tools: [terminal(make)] }, { text: 'There.' }]),
    });
    const { page, problems } = await browser.openNew();
    // A user chooses a file on a disk that has no room for it.
    await page.addInitScript(`globalThis.showSaveFilePicker = async ({ suggestedName }) => ({
      createWritable: async () => new WritableStream({
        write(part) {
          throw new Error(part.length > 0 ? 'No room for ' + suggestedName : 'Nothing to write');
        },
      }),
    });`);
    await page.goto(dash.ui(`runs/${run_id}`));
    await page.getByRole('tab', { name: 'Files' }).click();
    const panel = page.getByRole('tabpanel');
    await panel.getByRole('button', { name: 'large.bin' }).click();
    await panel.getByRole('button', { name: 'Download' }).click();
    await panel.getByText('No room for large.bin').waitFor();

    // Other browsers cannot do that.
    await page.evaluate('delete globalThis.showSaveFilePicker');
    await panel.getByRole('button', { name: '‹ Back' }).click();
    await panel.getByRole('button', { name: 'huge.bin' }).click();
    await panel.getByRole('button', { name: 'Download' }).click();
    await panel.getByText(`talaria artifacts get ${run_id} 'huge.bin'`).waitFor();
    expect(problems).toEqual([]);
  });

  test('saves all of a large file to disk', { tags: ['soak'] }, async () => {
    const { run_id } = await dash.client.runs.run({
      input: script([{ tools: [terminal('head -c 60000000 /dev/zero > large.bin')] }, { text: 'There.' }]),
    });
    const { page, problems } = await browser.openNew();
    // A file of the browser's own in place of the one that a user would choose.
    await page.addInitScript(`globalThis.showSaveFilePicker = async ({ suggestedName }) =>
      (await navigator.storage.getDirectory()).getFileHandle(suggestedName, { create: true });`);
    await page.goto(dash.ui(`runs/${run_id}`));
    await page.getByRole('tab', { name: 'Files' }).click();
    const panel = page.getByRole('tabpanel');
    await panel.getByRole('button', { name: 'large.bin' }).click();
    await panel.getByRole('button', { name: 'Download' }).click();
    const sizeOnDisk = `navigator.storage.getDirectory()
      .then((files) => files.getFileHandle('large.bin')).then((handle) => handle.getFile())
      .then(({ size }) => size, () => 0)`;
    await expect.poll(() => page.evaluate(sizeOnDisk)).toBe(60_000_000);
    expect(problems).toEqual([]);
  });

  test('answers, steers, stops and retries', async () => {
    const input = `Clean up\n${script([
      { tools: [terminal('rm -rf build')] },
      { chunks: ['Working', { gate: 'never' }] },
    ])}`;
    const { run_id } = await dash.client.runs.create({ input });
    const { page, problems } = await browser.open();
    await page.goto(dash.ui(`runs/${run_id}`));
    await page.getByRole('button', { name: 'Once' }).click();
    await page.getByText('Allowed once').waitFor();
    await page.locator('.row.text', { hasText: 'Working' }).waitFor();
    await page.getByPlaceholder('Steer before its next step…').fill('Be quick');
    await page.keyboard.press('Enter');
    await page.getByText('sent 1').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('The run was stopped.').waitFor();
    expect((await dash.client.runs.get(run_id)).status).toBe('cancelled');
    await page.getByRole('button', { name: 'Retry' }).click();
    await page.waitForURL((url) => url.pathname.includes('/runs/run_') && !url.pathname.endsWith(run_id));
    const again = page.url().split('/').at(-1)!;
    await expect.poll(async () => (await dash.client.runs.get(again)).input).toContain('Clean up');
    await dash.client.runs.stop(again);
    expect(problems).toEqual([]);
  });

  test('forks: from its end, from an event of the inspector, and a fork again', async () => {
    const input = `Count\n${script([{ tools: [terminal('echo 1')] }, { text: 'One.' }])}`;
    const { run_id } = await dash.client.runs.run({ input });
    const { page, problems } = await browser.open();
    const dialog = page.getByRole('dialog');
    /** The run that the page goes to. */
    const next = async (from: string): Promise<string> => {
      await page.waitForURL((url) => url.pathname.includes('/runs/run_') && !url.pathname.endsWith(from));
      return new URL(page.url()).pathname.split('/').at(-1)!;
    };
    await page.goto(dash.ui(`runs/${run_id}`));
    await page.getByText('The run is done.').waitFor();

    await page.getByRole('button', { name: 'Fork…' }).click();
    await dialog.getByRole('button', { name: 'Start the fork' }).click();
    await dialog.getByText("ends with the model's answer").waitFor();
    await dialog.getByRole('textbox', { name: /next message/ }).fill(script([{ text: 'Two.' }]));
    await dialog.getByRole('button', { name: 'Start the fork' }).click();
    const first = await next(run_id);
    await page.locator('.row.text', { hasText: 'Two.' }).waitFor();
    expect((await dash.client.runs.wait(first)).forked_from?.run_id).toBe(run_id);

    await page.getByRole('button', { name: 'Retry' }).click();
    const again = await next(first);
    await page.locator('.row.text', { hasText: 'Two.' }).waitFor();
    expect((await dash.client.runs.wait(again)).forked_from).toEqual({ run_id: first, seq: 0 });

    await page.goto(dash.ui(`runs/${run_id}`));
    await page.getByRole('tab', { name: 'Events' }).click();
    await page
      .getByRole('tabpanel')
      .getByRole('button', { name: /tool\.completed/ })
      .click();
    await page.getByRole('button', { name: 'Fork from here…' }).click();
    await dialog.getByRole('button', { name: 'Start the fork' }).click();
    const third = await next(run_id);
    const { forked_from: origin, output } = await dash.client.runs.wait(third);
    expect(output).toBe('One.');
    await page.getByRole('link', { name: 'fork of another run' }).click();
    await page.waitForURL((url) => url.pathname.endsWith(run_id));
    expect(new URL(page.url()).searchParams.get('event')).toBe(`${origin!.seq}`);
    await page.goto(dash.ui(''));
    await page.locator(`tr[data-run="${third}"] .tag`, { hasText: 'fork' }).waitFor();
    expect(problems).toEqual([]);
  });
});
