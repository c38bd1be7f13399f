/** What axe-core finds in a page: an empty list, in every theme and size. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { DESK, PHONE } from './sizes.ts';

/** The minified one: a page compiles it in two thirds of the time. */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export const THEMES = ['light', 'dark'] as const;
type Theme = (typeof THEMES)[number];

/**
 * By theme and size, so that a failure says where it shows. `within` names the part of the page that is new, where
 * another test looks at the rest: axe takes as long as the page has nodes.
 */
export async function violationsOf(page: Page, within?: string): Promise<string[]> {
  const found: string[] = [];
  for (const viewport of [DESK, PHONE]) {
    await page.setViewportSize(viewport);
    for (const colorScheme of THEMES) {
      await page.emulateMedia({ colorScheme });
      const violations = await violationsIn(page, colorScheme, within);
      found.push(...violations.map((violation) => `${colorScheme} ${viewport.width}: ${violation}`));
    }
  }
  await page.setViewportSize(DESK);
  return found;
}

/** The only rules that look at colours, of those that are not off by default. */
const COLOUR_RULES = ['color-contrast', 'link-in-text-block'];

/** In the theme and size that the page has. Themes differ in their colours, so only one of them needs the other rules. */
export async function violationsIn(page: Page, theme: Theme, within?: string): Promise<string[]> {
  // Compiling it takes longer than running it.
  if (await page.evaluate("typeof axe === 'undefined'")) await page.evaluate(AXE);
  const rules = theme === 'dark' ? { runOnly: COLOUR_RULES } : {};
  const options = JSON.stringify({ resultTypes: ['violations'], ...rules });
  const part = within === undefined ? 'document' : JSON.stringify(within);
  const { violations } = await page.evaluate<AxeResults>(`axe.run(${part}, ${options})`);
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  );
}

/** Whether the page is wider than the screen: nobody should have to scroll sideways. */
export async function overflows(page: Page): Promise<boolean> {
  await page.setViewportSize(PHONE);
  const wider = await page.evaluate<boolean>(
    'document.documentElement.scrollWidth > document.documentElement.clientWidth',
  );
  await page.setViewportSize(DESK);
  return wider;
}
