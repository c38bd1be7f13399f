/**
 * One Chromium for all tests of a worker, and pages that collect what must never happen: violations of the content security
 * policy, errors that nobody caught, and requests to elsewhere.
 */
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { describe, onTestFinished } from 'vitest';
import { CHROMIUM, FLAGS } from '../../client/browser.ts';
import { DESK } from './sizes.ts';

/** How long a page has for what it should show: only what never comes is to fail. */
const PATIENCE_MS = 30_000;

/** Runs in every page, before its own scripts. */
const REPORT_VIOLATIONS = `document.addEventListener('securitypolicyviolation', (event) => {
  console.error('CSP: ' + event.violatedDirective + ' ' + event.blockedURI + ' ' + event.sample);
});`;

/** A failure that the client retries without a delay. */
export const AT_ONCE = { status: 500, headers: { 'retry-after': '0' } };

/** A group of tests that says by its name why it was skipped where there is no browser. */
export const describeInBrowser =
  CHROMIUM === undefined
    ? (name: string, tests: () => void) => describe.skip(`${name} (no Chromium on this machine)`, tests)
    : describe;

export interface Watched {
  context: BrowserContext;
  page: Page;
  /** What went wrong in any page of the context. */
  problems: string[];
}

type ContextOptions = NonNullable<Parameters<Browser['newContext']>[0]>;

/** It starts with the first page. Playwright ends it with its process. */
let started: Promise<Browser> | undefined;

/** Pages that a test has left, by their options. A new page takes a process, and compiles its scripts anew. */
const left = new Map<string, Watched>();

export const browser = {
  /** A page without keys, routes and other pages. The next test may get the same one, emptied. */
  async open(options: ContextOptions = {}): Promise<Watched> {
    const name = JSON.stringify(options);
    const watched = left.get(name) ?? (await browser.openForAll(options));
    left.delete(name);
    onTestFinished(async ({ task }) => {
      if (task.result?.state !== 'fail' && (await isEmptied(watched, options))) left.set(name, watched);
      else await watched.context.close();
    });
    return watched;
  },

  /** A page of a profile that no other test has: for what stays in a page, such as scripts that run before its own. */
  async openNew(options: ContextOptions = {}): Promise<Watched> {
    const watched = await browser.openForAll(options);
    onTestFinished(() => watched.context.close());
    return watched;
  },

  /** The same for several tests, the last of which closes its context. */
  async openForAll(options: ContextOptions = {}): Promise<Watched> {
    started ??= chromium.launch({ executablePath: CHROMIUM!, args: FLAGS });
    // What moves is drawn sixty times a second, in every page that is open.
    const context = await (await started).newContext({ viewport: DESK, reducedMotion: 'reduce', ...options });
    context.setDefaultTimeout(PATIENCE_MS);
    const problems: string[] = [];
    context.on('page', (page) => watch(page, problems));
    await context.addInitScript({ content: REPORT_VIOLATIONS });
    return { context, page: await context.newPage(), problems };
  },
};

/** Whether the page is as a new one again. One that a test has closed is not. */
async function isEmptied({ context, page, problems }: Watched, options: ContextOptions): Promise<boolean> {
  if (page.isClosed()) return false;
  for (const other of context.pages()) if (other !== page) await other.close();
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await page.evaluate('localStorage.clear(); sessionStorage.clear()');
  await page.goto('about:blank');
  await page.setViewportSize(options.viewport ?? DESK);
  await page.emulateMedia({ colorScheme: options.colorScheme ?? null });
  problems.length = 0;
  return true;
}

/** Goes to another address of the page that is loaded, which is not loaded again. */
export async function visit(page: Page, path: string): Promise<void> {
  const address = JSON.stringify(`/ui/${path}`);
  await page.evaluate(
    `history.pushState(null, '', ${address}); dispatchEvent(new PopStateEvent('popstate'))`,
  );
}

function watch(page: Page, problems: string[]): void {
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error' && message.text().startsWith('CSP')) problems.push(message.text());
  });
  page.on('request', (request) => {
    const { protocol, hostname } = new URL(request.url());
    const own =
      protocol === 'blob:' || protocol === 'data:' || hostname === '127.0.0.1' || hostname === 'localhost';
    if (!own) problems.push(`request: ${request.url()}`);
  });
}
