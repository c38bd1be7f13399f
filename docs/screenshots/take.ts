/**
 * Takes the pictures of docs/dashboard.md: a real server with a scripted model, and the page in Chromium.
 * `npm run docs:screenshots` runs it. A picture has few colours and a palette, so it stays small.
 */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { chromium, type Page } from 'playwright-core';
import { CHROMIUM, FLAGS } from '../../test/client/browser.ts';
import { startDashboardServer } from '../../test/dashboard/support/dashboard-server.ts';
import { type Step, script } from '../../test/support/model-server.ts';
import { waitFor } from '../../test/support/wait-for.ts';

if (CHROMIUM === undefined) throw new Error('There is no Chromium on this machine');

await using dash = await startDashboardServer({
  env: { TALARIA_APPROVALS_UNISOLATED: 'ask', TALARIA_APPROVALS_ISOLATED: 'ask' },
});
const { client } = dash;

/** The script is far behind the prompt, where a list does not show it. */
const prompt = (text: string, steps: Step[]) => `${text}${'\n'.repeat(500)}${script(steps)}`;
const call = (name: string, fields: Record<string, unknown>) => ({ name, arguments: fields });
const usage = (input: number) => ({ input, output: Math.round(input / 20) });

await client.runs.run({
  input: prompt('Summarise what changed in the parser this week', [
    {
      text: 'Three fixes: empty input, CRLF at the end of a file, and a faster table of tokens.',
      usage: usage(6200),
    },
  ]),
  session_id: 'parser',
});
await client.runs.run({
  input: prompt('Import customers.csv into the database', [
    { error: { status: 400, message: 'The provider refused the request' } },
  ]),
});
await client.jobs.create({
  name: 'Nightly report',
  schedule: '0 7 * * 1-5',
  timezone: 'Europe/Berlin',
  prompt: 'Summarise the failed runs of yesterday.',
});
await client.runs.create({
  input: prompt('Watch the deployment and tell me when it is healthy', [
    { tools: [call('todo', {})], usage: usage(9100) },
    { hang: 'before' },
  ]),
});
const asking = await client.runs.create({
  input: prompt('Make the tests pass', [
    {
      text: 'The build directory is stale. I remove it and build again.',
      tools: [call('write_file', { path: 'notes.md', content: '# Plan\n\n1. clean\n2. build\n3. test\n' })],
      usage: usage(11_800),
    },
    { tools: [call('terminal', { command: 'rm -rf build dist && npm run build' })], usage: usage(12_400) },
    { text: 'All 212 tests pass.' },
  ]),
  session_id: 'parser',
});
const question = await waitFor('a question', async () => (await client.runs.get(asking.run_id)).approval);

const browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
try {
  const desk = await browser.newPage({ viewport: { width: 1200, height: 640 }, colorScheme: 'light' });
  await shoot(desk, 'home', '', 'article');
  await shoot(desk, 'run', `runs/${asking.run_id}`, 'h1');
  const phone = await browser.newPage({ viewport: { width: 390, height: 640 }, colorScheme: 'dark' });
  await shoot(phone, 'approve', `approve/${asking.run_id}/${question.request_id}`, 'article');
} finally {
  await browser.close();
}

async function shoot(page: Page, name: string, path: string, shows: string): Promise<void> {
  await page.goto(dash.ui(path));
  await page.locator(shows).first().waitFor();
  // Buttons of a card that just appeared are pale.
  await page.locator('button[aria-disabled="true"]').first().waitFor({ state: 'detached' });
  const file = fileURLToPath(new URL(`${name}.png`, import.meta.url));
  await page.screenshot({ path: file, animations: 'disabled' });
  shrink(file);
}

/** With pngquant where the machine has it; the picture is the same either way. */
function shrink(file: string): void {
  try {
    execFileSync('pngquant', ['--force', '--output', file, '64', file], { stdio: 'ignore' });
  } catch {}
}
