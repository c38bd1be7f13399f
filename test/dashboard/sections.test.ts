import { afterAll, beforeAll, expect, test } from 'vitest';
import { script } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { AT_ONCE, browser, describeInBrowser, visit } from './support/browser.ts';
import { type DashboardServer, startDashboardServer } from './support/dashboard-server.ts';

let dash: DashboardServer;
beforeAll(async () => {
  dash = await startDashboardServer({
    env: { TALARIA_APPROVALS_UNISOLATED: 'ask', TALARIA_APPROVALS_ISOLATED: 'ask' },
  });
});
afterAll(async () => dash[Symbol.asyncDispose]());

describeInBrowser('the sections', () => {
  test('rules: a grant is revoked, and the next such command asks again', async () => {
    const { client } = dash;
    const ask = script([{ tools: [{ name: 'terminal', arguments: { command: 'rm -rf out' } }] }]);
    const { run_id } = await client.runs.create({ input: ask, session_id: 'talk' });
    const { request_id } = await waitFor('a question', async () => (await client.runs.get(run_id)).approval);
    await client.runs.respondApproval(run_id, { choice: 'session', request_id });
    const { page, problems } = await browser.open();
    await page.goto(dash.ui('rules'));
    await page.getByText('session talk').waitFor();
    await page.getByRole('button', { name: 'Revoke recursive delete' }).click();
    await page.getByText('Nothing: every gated command asks.').waitFor();
    expect((await client.grants.list()).data).toEqual([]);
    expect(problems).toEqual([]);
  });

  test('jobs: created with its next five times, run, paused, changed and deleted', async () => {
    const { page, problems } = await browser.open({ timezoneId: 'America/New_York' });
    await page.goto(dash.ui('jobs'));
    await page.getByText('There is no job yet.').waitFor();
    await page.getByRole('button', { name: 'New job' }).click();
    await page.getByLabel('Name').fill('Nightly');
    await page.getByLabel('Schedule').fill('30 3 * * *');
    await page.getByLabel('Time zone').fill('Europe/Berlin');
    await page.getByLabel('Prompt').fill('Tidy up');
    await page.getByRole('button', { name: 'Create the job' }).click();
    const job = page.getByRole('article');
    await job.getByRole('heading', { name: 'Nightly' }).waitFor();
    // In the zone of the job, not in that of the browser.
    const times = await job.getByRole('listitem').allTextContents();
    expect(times).toHaveLength(5);
    for (const time of times) expect(time).toContain('3:30');
    await job.getByRole('button', { name: 'Run now' }).click();
    await job.getByText(/^Last run/).waitFor();
    await job.getByRole('button', { name: 'Pause' }).click();
    await job.getByText('paused').waitFor();
    expect(await job.getByRole('listitem').count()).toBe(0);
    await job.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Name').fill('Weekly');
    await page.getByRole('button', { name: 'Save' }).click();
    await job.getByRole('heading', { name: 'Weekly' }).waitFor();
    await job.getByRole('button', { name: 'Delete…' }).click();
    await job.getByRole('button', { name: 'Really delete' }).click();
    await page.getByText('There is no job yet.').waitFor();
    expect(await dash.client.jobs.list({ include_disabled: true })).toEqual([]);
    expect(problems).toEqual([]);
  });

  test('chats: a message is answered; while a run works, the next is queued, steered, or sent after a stop', async () => {
    const { page, problems } = await browser.open();
    await page.goto(dash.ui('chats'));
    await page.getByRole('button', { name: 'New chat' }).click();
    const message = page.getByLabel('Message');
    await message.fill('Hello there');
    await message.press('Enter');
    await page.getByText('You said: Hello there').waitFor();
    // The run is over, not only its text: what follows is about the next run.
    const send = page.getByRole('button', { name: 'Send', exact: true });
    await send.waitFor();
    const slow = script([{ gate: 'slow', tools: [{ name: 'todo', arguments: {} }] }, { text: 'finished' }]);
    await message.fill(slow);
    await message.press('Enter');
    await page.getByRole('button', { name: 'Steer now' }).waitFor();
    await message.fill('Be brief');
    await page.getByRole('button', { name: 'Steer now' }).click();
    await message.fill(script([{ text: 'and then this' }]));
    await message.press('Enter');
    await page.getByText('queued').waitFor();
    dash.model.open('slow');
    await page.getByText('and then this', { exact: true }).waitFor();
    const texts = await page.locator('.turns .text').allTextContents();
    expect(texts.filter(Boolean)).toEqual(['You said: Hello there', 'finished', 'and then this']);
    const requests = dash.model.requests.map(({ body }) => JSON.stringify(body.messages));
    expect(requests.some((text) => text.includes('Be brief'))).toBe(true);
    await send.waitFor();
    await message.fill(script([{ hang: 'before' }]));
    await message.press('Enter');
    await page.getByRole('button', { name: 'Stop and send' }).waitFor();
    await message.fill(script([{ text: 'something else' }]));
    await page.getByRole('button', { name: 'Stop and send' }).click();
    await page.getByText('something else', { exact: true }).waitFor();
    expect(problems).toEqual([]);
  });

  test('chats: what is typed while a message is sent stays, and a message that fails comes back', async () => {
    const { page, problems } = await browser.open();
    await page.goto(dash.ui('chats'));
    await page.getByRole('button', { name: 'New chat' }).click();
    const message = page.getByLabel('Message');
    const answers = Promise.withResolvers<void>();
    let refused = false;
    await page.route('**/v1/runs', async (route) => {
      if (route.request().method() !== 'POST') return route.continue();
      if (refused) return route.fulfill({ status: 422, json: { error: { message: 'Not today.' } } });
      const response = await route.fetch();
      await answers.promise;
      await route.fulfill({ response });
    });
    await message.fill('One');
    await message.press('Enter');
    await page.getByText('You said: One').waitFor();
    await message.fill('Two');
    await message.press('Enter');
    await message.fill('Three');
    answers.resolve();
    await page.getByText('You said: Two').waitFor();
    expect(await message.inputValue()).toBe('Three');
    await page.getByText('Sending…').waitFor({ state: 'detached' });
    expect(await message.inputValue()).toBe('Three');
    refused = true;
    await message.press('Enter');
    await page.getByText('Not today.').waitFor();
    expect(await message.inputValue()).toBe('Three');
    expect(problems).toEqual([]);
  });

  test('chats: an answer stays while the messages of its session are loaded', async () => {
    const { page, problems } = await browser.open();
    await page.goto(dash.ui('chats'));
    await page.getByRole('button', { name: 'New chat' }).click();
    await page.getByLabel('Message').waitFor();
    const loads = Promise.withResolvers<void>();
    await page.route('**/messages?**', async (route) => {
      await loads.promise;
      await route.continue();
    });
    await page.getByLabel('Message').fill('Stay');
    await page.getByLabel('Message').press('Enter');
    const answer = page.locator('.turns .text', { hasText: 'You said: Stay' });
    await answer.waitFor();
    await page.locator('.turns').getByText('done').waitFor();
    expect(await answer.count()).toBe(1);
    loads.resolve();
    await page.locator('.turns').getByText('done').waitFor({ state: 'detached' });
    expect(await answer.count()).toBe(1);
    expect(problems).toEqual([]);
  });

  test('chats: a turn that failed or was stopped stays, with its reason, and is sent again', async () => {
    const { page, problems } = await browser.open();
    await page.goto(dash.ui('chats'));
    await page.getByRole('button', { name: 'New chat' }).click();
    const message = page.getByLabel('Message');
    const say = async (text: string) => {
      await message.fill(text);
      await message.press('Enter');
    };
    await say('One');
    await page.getByText('You said: One').waitFor();
    // Longer than what a list shows of a prompt: only this page has all of it. It fails once.
    const failsOnce = { error: { status: 400, message: 'no such thing' }, times: 1, text: 'at last' };
    const long = `${'word '.repeat(200)}\n${script([failsOnce])}`;
    await say(long);
    const lost = page.locator('.turns li', { hasText: 'no such thing' });
    await lost.getByText('failed').waitFor();
    expect(await lost.locator('.asked').innerText()).toContain('word word');
    await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
    await say(script([{ hang: 'before' }]));
    await page.getByRole('button', { name: 'Stop and send' }).waitFor();
    await message.fill('Two');
    await page.getByRole('button', { name: 'Stop and send' }).click();
    await page.getByText('You said: Two').waitFor();
    const states = async () => {
      const turns = await page.locator('.turns li').allInnerTexts();
      return turns.map((turn) => /failed|stopped|You said: \w+|at last/.exec(turn)?.[0]);
    };
    await expect.poll(states).toEqual(['You said: One', 'failed', 'stopped', 'You said: Two']);
    // What only this page had is there again, after it.
    await lost.getByRole('button', { name: /^Retry/ }).click();
    await page.locator('.turns .text', { hasText: 'at last' }).waitFor();
    await expect.poll(states).toEqual(['You said: One', 'failed', 'stopped', 'You said: Two', 'at last']);

    // Somebody who opens the chat later sees the same, and may retry what fits into a list.
    await page.reload();
    await expect.poll(states).toEqual(['You said: One', 'failed', 'stopped', 'You said: Two', 'at last']);
    const stopped = page.locator('.turns li', { hasText: 'stopped' });
    await stopped.getByRole('button', { name: /^Retry/ }).click();
    await page.getByRole('button', { name: 'Stop and send' }).waitFor();
    expect(problems).toEqual([]);
  });

  test('chats: a session is forked up to a turn, and deleted after a second press', async () => {
    for (const input of ['one', 'two']) await dash.client.runs.run({ input, session_id: 'branch' });
    const { page, problems } = await browser.open();
    await page.goto(dash.ui('chats/branch'));
    await page.getByText('You said: two').waitFor();
    await page.getByRole('button', { name: 'Fork here' }).first().click();
    await page.waitForURL((url) => !url.pathname.endsWith('/branch'));
    await page.getByRole('link', { name: '⑂ one' }).waitFor();
    await page.getByText('You said: one').waitFor();
    expect(await page.getByText('You said: two').count()).toBe(0);
    const fork = page.url().split('/').at(-1)!;
    expect(await dash.client.sessions.get(fork)).toMatchObject({ forked_from: 'branch', message_count: 2 });

    await page.getByRole('button', { name: 'Delete…' }).click();
    await page.getByRole('button', { name: 'Really delete it' }).click();
    await page.waitForURL(/\/ui\/chats$/);
    await page.getByRole('link', { name: '⑂ one' }).waitFor({ state: 'detached' });
    const { data } = await dash.client.sessions.list();
    const left = data.map(({ session_id }) => session_id);
    expect(left).toContain('branch');
    expect(left).not.toContain(fork);
    expect(problems).toEqual([]);
  });

  test('chats: a session with a slash in its name has an address that can be opened', async () => {
    await dash.client.runs.run({ input: 'one', session_id: 'team/50% ü' });
    const { page, problems } = await browser.open();
    await page.goto(dash.ui(`chats/${encodeURIComponent('team/50% ü')}`));
    await page.getByText('You said: one').waitFor();
    await page.getByRole('link', { name: 'Rules' }).click();
    await page.waitForURL(/\/ui\/rules$/);
    expect(problems).toEqual([]);
  });

  test('chats: files go with a message, and return with it if it cannot be sent', async () => {
    await dash.client.runs.run({ input: 'Before the files', session_id: 'with files' });
    const { page, problems } = await browser.open();
    await page.goto(dash.ui('chats/with%20files'));
    await page.getByText('You said: Before the files').waitFor();
    const file = (name: string, text: string) => ({
      name,
      mimeType: 'text/plain',
      buffer: Buffer.from(text),
    });
    const attached = page.getByRole('list', { name: 'Attached files' });
    const attach = page.getByRole('button', { name: 'Attach files' });
    await attach.waitFor();
    const choosing = page.waitForEvent('filechooser');
    await attach.click();
    await (await choosing).setFiles([file('data <b>.csv', 'a,b'), file('other.txt', 'no')]);
    await attached.getByRole('button', { name: 'Remove other.txt' }).click();
    expect(await attached.getByRole('listitem').allInnerTexts()).toEqual([
      expect.stringContaining('data <b>.csv'),
    ]);

    let refused = true;
    await page.route('**/v1/runs', (route) => {
      if (!refused || route.request().method() !== 'POST') return route.continue();
      return route.fulfill({ status: 422, json: { error: { message: 'Not today.' } } });
    });
    const failsOnce = { error: { status: 400, message: 'not yet' }, times: 1, text: 'I have read it.' };
    const input = `Read it\n${script([failsOnce])}`;
    const message = page.getByLabel('Message');
    await message.fill(input);
    await message.press('Enter');
    await page.getByText('Not today.').waitFor();
    await attached.getByText('data <b>.csv').waitFor();
    refused = false;
    await message.press('Enter');
    await attached.waitFor({ state: 'detached' });
    // It fails, and is sent again, with its file.
    const lost = page.locator('.turns li', { hasText: 'provider_bad_request: not yet' });
    await lost.getByRole('button', { name: /^Retry/ }).click();
    await page.locator('.turns .text', { hasText: 'I have read it.' }).waitFor();

    const { data } = await dash.client.runs.list({ session_id: 'with files', limit: 2 });
    for (const { run_id } of data) {
      const response = await dash.client.runs.artifacts.read(run_id, 'data <b>.csv');
      expect(await response.text()).toBe('a,b');
    }
    const told = JSON.stringify(dash.model.requests.at(-1)?.body.messages);
    expect(told).toContain('data <b>.csv');
    expect(told).toContain('Before the files');
    // The runs keep them; nothing stays among the uploads.
    await expect.poll(async () => (await dash.client.files.list()).data).toEqual([]);
    expect(problems).toEqual([]);
  });

  test('a list that cannot be loaded is a failure with a way to try again, never an empty list', async () => {
    const { page, problems } = await browser.open();
    await page.goto(dash.ui());
    await page.locator('.connection.good').waitFor();
    let broken = true;
    await page.route(
      /\/(v1\/(runs|approvals|grants)|api\/(sessions|jobs)|health\/detailed)(\?|$)/,
      (route) => {
        if (!broken) return route.continue();
        return route.fulfill({ ...AT_ONCE, json: { error: { message: 'The disk is full.' } } });
      },
    );
    for (const [path, lists] of [
      ['chats', 1],
      ['jobs', 1],
      ['rules', 2],
      ['server', 2],
      ['', 1],
    ] as const) {
      broken = true;
      await visit(page, path);
      const failures = page.locator('main .problem[role="alert"]', { hasText: 'The disk is full.' });
      await failures.nth(lists - 1).waitFor();
      expect(await failures.count(), path).toBe(lists);
      expect(await page.locator('table tbody tr').count(), path).toBe(0);
      expect(await page.getByText(/There is no|No run matches|Nothing/).count(), path).toBe(0);
      broken = false;
      // All at once: a list that is loaded takes its button away.
      await page.evaluate(
        "for (const button of document.querySelectorAll('main .problem button')) button.click()",
      );
      await failures.first().waitFor({ state: 'detached' });
    }
    expect(problems).toEqual([]);
  });

  test('a page that cannot be drawn says so, can be tried again, and leaves the others alone', async () => {
    const { page } = await browser.open();
    let broken = true;
    await page.route('**/api/jobs*', (route) =>
      broken ? route.fulfill({ json: { jobs: [{ id: 'a job without anything else' }] } }) : route.continue(),
    );
    await page.goto(dash.ui('jobs'));
    await page.getByRole('heading', { name: 'This page cannot be shown' }).waitFor();
    await page.getByRole('link', { name: 'Rules' }).click();
    await page.getByRole('heading', { name: 'Rules', exact: true }).waitFor();
    await page.getByRole('link', { name: 'Jobs' }).click();
    await page.getByRole('heading', { name: 'This page cannot be shown' }).waitFor();
    broken = false;
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { name: 'Jobs', exact: true }).waitFor();
  });

  test('server: its parts, its queue and what its runs used', async () => {
    const { page, problems } = await browser.open();
    await page.goto(dash.ui('server'));
    for (const part of ['store', 'sandbox', 'model']) await page.getByRole('cell', { name: part }).waitFor();
    await page.locator('.facts div', { hasText: 'Queued runs' }).getByText('of at most 1000').waitFor();
    await page.getByText('As numbers').click();
    expect(await page.getByRole('listitem').count()).toBe(14);
    expect(problems).toEqual([]);
  });

  test('keyboard: j reaches a run, Enter opens it, the palette finds a page', async () => {
    await dash.client.runs.run({ input: 'Something to open' });
    const { page } = await browser.open();
    await page.goto(dash.ui());
    await page.locator('[data-run]').first().waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/ui\/runs\/run_/);
    // A dialog takes what is typed at once.
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').waitFor();
    await page.keyboard.type('rul');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/ui\/rules$/);
    // While a dialog is there, keys belong to it; that it is closed already does not suffice.
    await page.locator('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('n');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.type('Hello');
    expect(await page.getByLabel('Prompt').inputValue()).toBe('Hello');
    await page.keyboard.press('Escape');
    await page.locator('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('g');
    await page.waitForURL(/\/ui\/$/);
    await page.locator('[data-run]').first().waitFor();
    await page.keyboard.press('/');
    await page.getByRole('searchbox').waitFor();
  });
});
