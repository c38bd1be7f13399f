import type { Locator } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { script } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { AT_ONCE, browser, describeInBrowser } from './support/browser.ts';
import { type DashboardServer, startDashboardServer } from './support/dashboard-server.ts';

let dash: DashboardServer;
beforeAll(async () => {
  dash = await startDashboardServer({
    env: { TALARIA_APPROVALS_UNISOLATED: 'ask', TALARIA_APPROVALS_ISOLATED: 'ask' },
  });
});
afterAll(async () => dash[Symbol.asyncDispose]());

const terminal = (command: string) => ({ name: 'terminal', arguments: { command } });

/** Its command asks first. */
const gated = (command: string) => script([{ tools: [terminal(command)] }, { text: 'All done.' }]);

// The whole way of a new user in one test. Other tests show each part by itself.
describeInBrowser('a new user', () => {
  test('starts a run, watches it, allows a command, reads a file, and stops another run', {
    tags: ['soak'],
  }, async () => {
    const { page, problems } = await browser.open();
    const startRun = async (prompt: string) => {
      await page.getByRole('button', { name: 'New run' }).click();
      await page.getByRole('dialog').getByLabel('Prompt').fill(prompt);
      await page.getByRole('button', { name: 'Start the run' }).click();
      await page.waitForURL(/\/ui\/runs\/run_/);
    };
    const says = (text: string) => page.locator('.row.text', { hasText: text }).waitFor();

    await page.goto(dash.server.url);
    await page.getByLabel('API key').fill(dash.key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('There is no run yet.').waitFor();

    const write = { name: 'write_file', arguments: { path: 'hello.txt', content: 'Hello from the run' } };
    await startRun(
      `Greet the world\n${script([
        { chunks: ['I write ', { gate: 'word' }, 'the greeting.'], tools: [write] },
        { chunks: ['Now I ', { gate: 'tidy' }, 'tidy up.'], tools: [terminal('rm -rf build; echo tidy')] },
        { text: 'The world is **greeted**.' },
      ])}`,
    );
    await says('I write');
    dash.model.open('word');
    await says('I write the greeting.');
    await page.getByRole('article', { name: 'Call of write_file' }).getByText('hello.txt').waitFor();
    await says('Now I');
    dash.model.open('tidy');

    const question = page.locator('article.approval', { hasText: 'rm -rf build; echo tidy' });
    await question.getByRole('button', { name: 'Once' }).click();
    await question.getByText('Allowed once, by').waitFor();
    await page.getByRole('article', { name: 'Call of terminal' }).getByText('exit 0').waitFor();
    await says('The world is greeted.');
    await page.getByText('The run is done.').waitFor();

    await page.getByRole('tab', { name: 'Files' }).click();
    const panel = page.getByRole('tabpanel');
    await panel.getByRole('button', { name: 'hello.txt' }).click();
    await panel.getByText('Hello from the run').waitFor();

    await page.getByRole('link', { name: 'All runs' }).click();
    await page.locator('tr', { hasText: 'Greet the world' }).getByText('done').waitFor();
    await startRun(`Watch the door\n${script([{ chunks: ['Nobody yet.', { gate: 'never' }] }])}`);
    await says('Nobody yet.');
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('The run was stopped.').waitFor();
    await page.getByRole('link', { name: 'All runs' }).click();
    await page.locator('tr', { hasText: 'Watch the door' }).getByText('stopped').waitFor();
    expect(problems).toEqual([]);
  });
});

describeInBrowser('the home page', () => {
  test('the key leaves the address at once, and the page follows the runs', async () => {
    const { page, problems } = await browser.open();
    await page.goto(dash.ui());
    await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor();
    expect(page.url()).toBe(`${dash.server.url}/ui/`);
    expect(await page.evaluate('[Object.values(sessionStorage), localStorage.length]')).toEqual([
      [dash.key],
      0,
    ]);
    const { run_id } = await dash.client.runs.create({ input: 'Say hello' });
    const row = page.locator(`[data-run="${run_id}"]`);
    await row.getByText('done').waitFor();
    expect(await row.getByRole('link').textContent()).toBe('Say hello');
    expect(problems).toEqual([]);
  });

  test('filters live in the address, a search finds words, and a list that is empty says why', async () => {
    const { page } = await browser.open();
    await page.goto(dash.ui('?status=failed'));
    await page.getByText('No run matches these filters.').waitFor();
    await page.getByLabel('State').selectOption('');
    await page.getByRole('link', { name: 'Say hello', exact: true }).waitFor();
    await page.getByRole('searchbox').fill('nothing like it');
    await page.getByText('No run matches these filters.').waitFor();
    expect(new URL(page.url()).searchParams.get('q')).toBe('nothing like it');
    await page.getByRole('searchbox').fill('HELLO say');
    await page.getByRole('link', { name: 'Say hello', exact: true }).waitFor();
    expect(await page.locator('[data-run]').count()).toBe(1);
  });

  test('a search reads on where the newest runs do not match, and says how far it has looked', async () => {
    const { page } = await browser.open();
    let empty = 3;
    await page.route(/\/v1\/runs\?.*q=rare/, async (route) => {
      if (empty > 0) {
        empty--;
        return route.fulfill({ json: { object: 'list', data: [], has_more: true, next_cursor: 'further' } });
      }
      const response = await route.fetch({ url: `${dash.server.url}/v1/runs?view=head&limit=1` });
      await route.fulfill({ response });
    });
    await page.goto(dash.ui('?q=rare'));
    await page.locator('[data-run]').waitFor();
    expect(empty).toBe(0);
    empty = Number.POSITIVE_INFINITY;
    await page.reload();
    await page.getByText('Older ones are not searched yet.').waitFor();
    empty = 0;
    await page.getByRole('button', { name: 'Older runs' }).click();
    await page.locator('[data-run]').waitFor();
  });

  test('a failed run says why, and is started once more with the same prompt', async () => {
    const input = `Import the list\n${script([{ error: { status: 400, message: 'No such model' } }])}`;
    const { run_id } = await dash.client.runs.run({ input, session_id: 'again' });
    const { page } = await browser.open();
    await page.goto(dash.ui('?status=failed'));
    const row = page.locator(`[data-run="${run_id}"]`);
    await row.getByText('No such model', { exact: true }).waitFor();
    await row.getByRole('button', { name: 'Retry Import the list' }).click();
    await page.waitForURL((url) => url.pathname.includes('/runs/run_'));
    const again = await dash.client.runs.get(page.url().split('/').at(-1)!);
    expect([again.input, again.session_id]).toEqual([input, 'again']);
    expect(again.run_id).not.toBe(run_id);
  });

  test('several runs are stopped together, after a question that names them', async () => {
    const inputs = ['one', 'two'].map((name) => `${name}\n${script([{ hang: 'before' }])}`);
    const ids = await Promise.all(
      inputs.map(async (input) => (await dash.client.runs.create({ input })).run_id),
    );
    const { page } = await browser.open();
    await page.goto(dash.ui('?status=active'));
    for (const id of ids) await page.locator(`[data-run="${id}"]`).getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Stop them…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Stop 2 runs' }).click();
    await page.locator('dialog').waitFor({ state: 'detached' });
    for (const id of ids) expect((await dash.client.runs.wait(id)).status).toBe('cancelled');
  });
});

/** Waits until the buttons of a card take a press. */
const isSteady = (card: Locator) => card.locator('button.primary:not([aria-disabled])').waitFor();

describeInBrowser('approvals', () => {
  test('two tabs: one answer counts, and both show it', async () => {
    const { context, page: first, problems } = await browser.open();
    const second = await context.newPage();
    for (const page of [first, second]) await page.goto(dash.ui());
    const { run_id } = await dash.client.runs.create({ input: gated('rm -rf build') });
    for (const page of [first, second])
      await page.getByRole('article').getByText('rm -rf build', { exact: true }).waitFor();
    await second.getByRole('button', { name: 'Once' }).click();
    await second.getByText('Allowed once, by you').waitFor();
    await first.bringToFront();
    await first.getByText('Allowed once, by').waitFor();
    const answersOf = async (run_id: string) => {
      expect((await dash.client.runs.wait(run_id)).status).toBe('completed');
      const { data } = await dash.client.approvals.list({ status: 'answered' });
      return data.filter(({ run }) => run.run_id === run_id);
    };
    expect(await answersOf(run_id)).toHaveLength(1);

    // Both answer at the same moment: one answer counts, and both show that one.
    const contested = await dash.client.runs.create({ input: gated('rm -rf both') });
    const cards = [first, second].map((page) => page.locator('article.approval', { hasText: 'rm -rf both' }));
    const buttons = cards.map((card, tab) =>
      card.getByRole('button', { name: ['Once', 'Deny'][tab]!, exact: true }),
    );
    for (const card of cards) await isSteady(card);
    // Pressed in the page itself: each has sent its answer before the other can hear of it.
    await Promise.all(
      buttons.map((button) =>
        button.evaluate((element) => (element as unknown as { click(): void }).click()),
      ),
    );
    const answers = await answersOf(contested.run_id);
    expect(answers).toHaveLength(1);
    const word = answers[0]!.choice === 'once' ? 'Allowed once, by' : 'Denied, by';
    for (const card of cards) await card.getByText(word).waitFor();
    expect(problems).toEqual([]);
  });

  const keysAnswer = async (keys: readonly (readonly [key: string, choice: string])[]) => {
    const { page, problems } = await browser.open();
    await page.goto(dash.ui());
    const ask = async (command: string, session_id: string) => {
      const { run_id } = await dash.client.runs.create({ input: gated(command), session_id });
      const card = page.locator('article.open', { hasText: command });
      await isSteady(card);
      return { run_id, card };
    };
    const choiceOf = async (run_id: string) => {
      expect((await dash.client.runs.wait(run_id)).status).toBe('completed');
      const { data } = await dash.client.approvals.list({ status: 'answered' });
      return data.find(({ run }) => run.run_id === run_id)?.choice;
    };
    const bystander = await ask('rm -rf bystander', 'bystander');
    for (const [key, choice] of keys) {
      const { run_id, card } = await ask(`rm -rf by-${choice}`, `keys ${choice}`);
      // Where nothing has the focus, the keys do nothing.
      await page.evaluate('document.activeElement?.blur()');
      await page.keyboard.press(key);
      expect((await dash.client.runs.get(run_id)).status).toBe('waiting_for_approval');
      await card.focus();
      if (choice === 'always') {
        await page.keyboard.press(key);
        await card.getByText(/no run of this API key is asked again/).waitFor();
        expect((await dash.client.runs.get(run_id)).status).toBe('waiting_for_approval');
      }
      // A settled card that leaves moves the others, and then a press does nothing for a moment.
      await waitFor('the answer', async () => {
        await page.keyboard.press(key);
        return (await dash.client.runs.get(run_id)).status !== 'waiting_for_approval';
      });
      expect(await choiceOf(run_id)).toBe(choice);
    }
    expect((await dash.client.runs.get(bystander.run_id)).status).toBe('waiting_for_approval');
    await dash.client.runs.stop(bystander.run_id);
    for await (const { id } of dash.client.grants.list()) await dash.client.grants.revoke(id);
    expect(problems).toEqual([]);
  };

  test('the key a answers the card that has the focus, and no other', () => keysAnswer([['a', 'always']]));

  test('so do the keys o, d and s', { tags: ['soak'] }, () =>
    keysAnswer([
      ['o', 'once'],
      ['d', 'deny'],
      ['s', 'session'],
    ]),
  );

  test('a question whose list fails to load is asked for again, and the page says that it does not know', async () => {
    const { page } = await browser.open();
    let broken = true;
    await page.route(/\/v1\/approvals\?/, (route) =>
      broken ? route.fulfill({ ...AT_ONCE, json: { error: { message: 'Busy.' } } }) : route.continue(),
    );
    await page.goto(dash.ui());
    await page.getByText('It is not known yet what waits for you: Busy.').waitFor();
    broken = false;
    await page.locator('.connection.good').waitFor();
    // Also later, when the feed tells of a question.
    broken = true;
    const { run_id } = await dash.client.runs.create({ input: gated('rm -rf unseen') });
    await page.locator(`[data-run="${run_id}"]`).getByText('needs approval').waitFor();
    await page.getByText('reconnecting…').waitFor();
    broken = false;
    await page.getByRole('article').getByText('rm -rf unseen', { exact: true }).waitFor();
    await page.locator('.connection.good').waitFor();
    await dash.client.runs.stop(run_id);
  });

  test('the questions behind one are shown with it, and one answer may settle all', async () => {
    const { page, problems } = await browser.open();
    await page.goto(dash.ui());
    const commands = ['rm -rf one', 'rm -rf two', 'rm -rf three'];
    const steps = [{ tools: commands.map(terminal) }, { text: 'All done.' }];
    const { run_id } = await dash.client.runs.create({ input: script(steps) });
    const card = page.locator('article.open', { hasText: 'rm -rf one' });
    await card.getByText('2 more wait behind it').waitFor();
    await expect.poll(() => page.title()).toMatch(/^\(\d+\) Runs · Talaria$/);
    expect(await card.locator('.command').allInnerTexts()).toEqual(commands);
    // A run that was given no session has one only by its own name.
    expect(await card.innerText()).not.toContain(`session ${run_id}`);
    await card.getByLabel('Answer all 3 alike').check();
    await card.getByRole('button', { name: 'Once' }).click();
    await page.getByText('Allowed once, by you, for all 3').waitFor();
    expect((await dash.client.runs.wait(run_id)).status).toBe('completed');
    const { data } = await dash.client.approvals.list({ status: 'answered' });
    expect(data.filter(({ run, choice }) => run.run_id === run_id && choice === 'once')).toHaveLength(3);
    expect(problems).toEqual([]);
  });

  test('a refusal says why, and the model is told', async () => {
    const { page } = await browser.open();
    await page.goto(dash.ui());
    const { run_id } = await dash.client.runs.create({ input: gated('rm -rf node_modules') });
    await page.getByRole('button', { name: 'Deny and say why' }).click();
    // The card counts its time down, which must not take the focus from another field.
    const search = page.getByRole('searchbox');
    await search.focus();
    const left = await page.locator('.time-left').innerText();
    await waitFor('the next second', async () => (await page.locator('.time-left').innerText()) !== left);
    expect(await search.evaluate((field) => field.matches(':focus'))).toBe(true);
    await page.getByLabel('What should the agent know?').fill('Use npm ci instead');
    await page.getByRole('button', { name: 'Deny with this message' }).click();
    await page.getByText('Denied, by you: “Use npm ci instead”').waitFor();
    await dash.client.runs.wait(run_id);
    expect(JSON.stringify(dash.model.requests.at(-1)?.body.messages)).toContain('Use npm ci instead');
  });

  // The key a does the same.
  test('always names its scope before it allows anything', { tags: ['soak'] }, async () => {
    const { page } = await browser.open();
    await page.goto(dash.ui());
    const { run_id } = await dash.client.runs.create({ input: gated('rm -rf cache') });
    await page.getByRole('button', { name: 'Always…' }).click();
    await page.getByText(/no run of this API key is asked again about recursive delete/).waitFor();
    expect((await dash.client.runs.get(run_id)).status).toBe('waiting_for_approval');
    await page.getByRole('button', { name: 'Allow always' }).click();
    expect((await dash.client.runs.wait(run_id)).status).toBe('completed');
    for await (const { id } of dash.client.grants.list()) await dash.client.grants.revoke(id);
  });

  test('the buttons of a form say at once that they take no press yet', async () => {
    const { page } = await browser.open();
    // The page's timers are held, so that only the change of the card's size can tell.
    await page.addInitScript(`{
      const begin = setInterval;
      window.setInterval = (look, ms) => begin(() => window.isHeld || look(), ms);
    }`);
    await page.goto(dash.ui());
    const { run_id } = await dash.client.runs.create({ input: gated('rm -rf logs') });
    await isSteady(page.getByRole('article'));
    const disabled = await page.evaluate(`(async () => {
      window.isHeld = true;
      const buttons = [...document.querySelectorAll('article button')];
      buttons.find(({ textContent }) => textContent.startsWith('Always')).click();
      for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
      return document.querySelector('article .scope button').getAttribute('aria-disabled');
    })()`);
    expect(disabled).toBe('true');
    await dash.client.runs.stop(run_id);
  });

  test('a button takes no press while its card is new or has just moved', async () => {
    const { page } = await browser.open();
    await page.goto(dash.ui());
    // Pressed by the page itself in the moment in which the card appears, however slow the machine is.
    await page.evaluate(`window.pressed = new Promise((resolve) => {
      const observer = new MutationObserver(() => {
        const button = document.querySelector('article button.primary');
        if (button === null) return;
        observer.disconnect();
        button.click();
        resolve();
      });
      observer.observe(document.body, { childList: true, subtree: true });
    }); undefined`);
    const { run_id } = await dash.client.runs.create({ input: gated('rm -rf out') });
    await page.evaluate('window.pressed');
    const once = page.getByRole('button', { name: 'Once' });
    expect((await dash.client.runs.get(run_id)).status).toBe('waiting_for_approval');
    await isSteady(page.getByRole('article'));
    // A press that was on its way to another place.
    const dead = await page.evaluate(`(() => {
      const button = document.querySelector('article button.primary');
      document.querySelector('main').style.paddingTop = '200px';
      button.click();
      return button.closest('article').className;
    })()`);
    expect(dead).toContain('open');
    expect((await dash.client.runs.get(run_id)).status).toBe('waiting_for_approval');
    await once.click();
    expect((await dash.client.runs.wait(run_id)).status).toBe('completed');
  });
});
