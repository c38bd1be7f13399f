/**
 * Takes the pictures of docs/dashboard.md: a real server with a scripted model, and the page in Chromium.
 *
 *   npm run docs:screenshots                 the pictures of the documents
 *   npm run docs:screenshots -- <directory>  every page in both themes and both sizes, to look at
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium, type Page } from 'playwright-core';
import { CHROMIUM, FLAGS } from '../../test/client/browser.ts';
import { DESK, PHONE } from '../../test/dashboard/support/sizes.ts';
import { startDemo } from './demo.ts';

/** A page, what it shows when it is there, and what is pressed first. */
interface Shot {
  name: string;
  path: string;
  shows: string;
  prepare?: (page: Page) => Promise<unknown>;
}

if (CHROMIUM === undefined) throw new Error('There is no Chromium on this machine');
await using demo = await startDemo();
const { dash, fixed, asking, question } = demo;
const tab = (name: string) => (page: Page) => page.getByRole('tab', { name }).click();
const inspector = async (page: Page) => {
  const inspect = page.getByRole('button', { name: 'Inspect', exact: true });
  if (await inspect.isVisible()) await inspect.click();
};
const SHOTS: readonly Shot[] = [
  { name: 'home', path: '', shows: 'article' },
  {
    name: 'run',
    path: `runs/${fixed}`,
    shows: '.row.end',
  },
  {
    name: 'failed',
    path: '?status=failed',
    shows: 'tr[data-run]',
    prepare: (page) =>
      page
        .locator('tr[data-run] a')
        .click()
        .then(() => page.locator('.row.end').waitFor()),
  },
  { name: 'no-match', path: '?q=nothing-like-it', shows: 'main > .empty' },
  { name: 'run-asking', path: `runs/${asking}`, shows: 'article.approval' },
  {
    name: 'files',
    path: `runs/${fixed}`,
    shows: '.row.end',
    prepare: async (page) => {
      await inspector(page);
      await tab('Files')(page);
      await page.getByRole('button', { name: 'Changes', exact: true }).click();
      await page.locator('.panel .diff-lines').first().waitFor();
    },
  },
  {
    name: 'call',
    path: `runs/${fixed}`,
    shows: '.row.end',
    prepare: async (page) => {
      await page.getByRole('button', { name: /^Inspect patch/ }).click();
      await page.locator('.step-changes').waitFor();
    },
  },
  { name: 'chat', path: 'chats/parser', shows: '.turns li' },
  { name: 'jobs', path: 'jobs', shows: '.job' },
  { name: 'rules', path: 'rules', shows: 'td' },
  { name: 'server', path: 'server', shows: '.bars' },
  { name: 'approve', path: `approve/${asking}/${question}`, shows: 'article' },
  {
    name: 'new-run',
    path: '',
    shows: 'article',
    prepare: (page) => page.keyboard.press('n').then(() => page.locator('dialog').waitFor()),
  },
  {
    name: 'palette',
    path: '',
    shows: 'article',
    prepare: (page) => page.keyboard.press('Control+k').then(() => page.locator('dialog').waitFor()),
  },
];

const browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
try {
  const [directory] = process.argv.slice(2);
  if (directory === undefined) await takePictures();
  else await takeAll(directory);
} finally {
  await browser.close();
}

async function takePictures(): Promise<void> {
  const desk = await browser.newPage({ viewport: { width: 1280, height: 760 }, colorScheme: 'light' });
  const phone = await browser.newPage({
    viewport: { width: PHONE.width, height: 560 },
    colorScheme: 'dark',
    deviceScaleFactor: 2,
  });
  for (const [page, name] of [
    [desk, 'home'],
    [desk, 'files'],
    [phone, 'approve'],
  ] as const) {
    const file = fileURLToPath(new URL(`${name}.png`, import.meta.url));
    await shoot(page, SHOTS.find((shot) => shot.name === name)!, file);
    shrink(file);
  }
}

async function takeAll(directory: string): Promise<void> {
  mkdirSync(directory, { recursive: true });
  for (const viewport of [DESK, PHONE]) {
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await browser.newPage({ viewport, colorScheme });
      for (const shot of SHOTS)
        await shoot(page, shot, join(directory, `${shot.name}-${viewport.width}-${colorScheme}.png`));
      await page.close();
    }
  }
}

async function shoot(page: Page, { path, shows, prepare }: Shot, file: string): Promise<void> {
  await page.goto('about:blank');
  await page.goto(`${dash.server.url}/ui/${path}`);
  await page.locator(shows).first().waitFor();
  // Buttons of a card that just appeared are pale.
  await page.locator('button[aria-disabled="true"]').first().waitFor({ state: 'detached' });
  await prepare?.(page);
  await page.screenshot({ path: file, animations: 'disabled' });
}

/** With pngquant where the machine has it; the picture is the same either way. */
function shrink(file: string): void {
  try {
    execFileSync('pngquant', ['--force', '--output', file, '64', file], { stdio: 'ignore' });
  } catch {}
}
