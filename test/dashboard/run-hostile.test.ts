/** A run whose every text tries to be something else: all of it is shown as text, and nothing of it runs. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { script } from '../support/model-server.ts';
import { browser, describeInBrowser } from './support/browser.ts';
import { type DashboardServer, startDashboardServer } from './support/dashboard-server.ts';

let dash: DashboardServer;
beforeAll(async () => {
  dash = await startDashboardServer();
});
afterAll(async () => dash[Symbol.asyncDispose]());

const RUNS = 'globalThis.hacked = true';
const HTML = `<script>${RUNS}</script><img src=x onerror="${RUNS}"><svg onload="${RUNS}"><iframe src="javascript:${RUNS}"></iframe>`;
const MARKDOWN = `${HTML}

[link](javascript:${RUNS}) ![image](https://attacker.invalid/pixel.png) <a href="javascript:${RUNS}">a</a>

- ${HTML}

| ${HTML} | b |
|---|---|
| <b>x</b> | y |

\`\`\`html
${HTML}
\`\`\`
`;
const DEEP = `${'>'.repeat(5000)} deep`;
const DEEP_CODE = '"$('.repeat(2000);
const ANSI =
  '\u001b]0;title\u0007\u001b[2J\u001b[31mred\u001b[0m\u001b]8;;javascript:alert(1)\u001b\\link\u001b]8;;\u001b\\';
const BIDI = 'safe\u202Egnp.exe';

describeInBrowser('a hostile run', () => {
  test('is shown as text: its prompt, answer, reasoning, commands, output, file names and files', async () => {
    const name = `<img src=x onerror=${RUNS.replaceAll(' ', '')}>.md`;
    const write = (path: string, content: string) => ({ name: 'write_file', arguments: { path, content } });
    const input = `${HTML} ${BIDI}\n${script([
      {
        reasoning: MARKDOWN,
        text: MARKDOWN,
        tools: [
          { name: 'terminal', arguments: { command: `cat <<'E'; false\n${HTML}${ANSI}${BIDI}\nE` } },
          write(name, MARKDOWN),
          write('page.svg', `<svg xmlns="http://www.w3.org/2000/svg"><script>${RUNS}</script></svg>`),
          write('fake.png', HTML),
          write('wide.csv', ','.repeat(5000)),
        ],
      },
      { tools: [{ name: 'patch', arguments: { path: name, old_string: 'image', new_string: HTML } }] },
      { text: `${HTML}${BIDI}\n\n${DEEP}\n\n\`\`\`bash\n${DEEP_CODE}\n\`\`\`\n` },
    ])}`;
    const { run_id } = await dash.client.runs.create({ input });
    expect((await dash.client.runs.wait(run_id)).status).toBe('completed');
    const { page, problems } = await browser.open();
    await page.goto(dash.ui(`runs/${run_id}`));
    await page.getByText('The run is done.').waitFor();
    for (const text of [DEEP, DEEP_CODE]) await page.locator('.row').getByText(text).waitFor();
    const list = page.getByRole('region', { name: 'Transcript' });
    await list.evaluate((element) => element.scrollTo(0, 0));
    await page.locator('.prompt').getByText('<script>').waitFor();
    // The character that turns the rest around is named instead.
    await page.locator('.prompt').getByText('U+202E').waitFor();
    await page.getByRole('button', { name: /thought/ }).click();
    const answer = page.locator('.row.text').first();
    expect(await answer.innerText()).toContain(HTML);

    const panel = page.getByRole('tabpanel');
    await page.getByRole('button', { name: /Inspect terminal/ }).click();
    await panel.locator('.ansi-red-fg', { hasText: 'red' }).waitFor();
    expect(await panel.innerText()).toContain(HTML);
    await page.getByRole('tab', { name: 'Files' }).click();
    for (const file of [name, 'page.svg', 'fake.png']) {
      await panel.getByRole('button', { name: file }).click();
      await panel.getByRole('button', { name: '‹ Back' }).waitFor();
      if (file !== 'fake.png') await panel.getByText('<script>').first().waitFor();
      await panel.getByRole('button', { name: '‹ Back' }).click();
    }
    await panel.getByRole('button', { name: 'wide.csv' }).click();
    await panel.getByText('These are its first columns.').waitFor();
    expect(await panel.locator('th').count()).toBe(50);
    for (const tab of ['Events', 'Run']) await page.getByRole('tab', { name: tab }).click();
    await panel.getByText('<script>').first().waitFor();

    expect(await page.evaluate('globalThis.hacked')).toBeUndefined();
    expect(await page.title()).not.toContain('title');
    const active =
      'main script, main iframe, main object, main svg script, [onerror], [onload], a[href^="javascript"]';
    expect(await page.locator(active).count()).toBe(0);
    expect(await page.locator('main img').count()).toBe(0);
    // No request went elsewhere, and the browser had nothing to block.
    expect(problems).toEqual([]);
  });
});
