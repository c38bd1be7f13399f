/** What axe-core finds in a page: an empty list, in every theme and size. */
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { DESK, PHONE } from './sizes.ts';

export const THEMES = ['light', 'dark'] as const;
type Theme = (typeof THEMES)[number];

/** By theme and size, so that a failure says where it shows. */
export async function violationsOf(page: Page): Promise<string[]> {
  const found: string[] = [];
  for (const viewport of [DESK, PHONE]) {
    await page.setViewportSize(viewport);
    for (const colorScheme of THEMES) {
      await page.emulateMedia({ colorScheme });
      const violations = await violationsIn(page, colorScheme);
      found.push(...violations.map((violation) => `${colorScheme} ${viewport.width}: ${violation}`));
    }
  }
  await page.setViewportSize(DESK);
  return found;
}

/** The only rules that look at colours, of those that are not off by default. */
const COLOUR_RULES = ['color-contrast', 'link-in-text-block'];

/** In the theme and size that the page has. Themes differ in their colours, so only one of them needs the other rules. */
export async function violationsIn(page: Page, theme: Theme): Promise<string[]> {
  // Compiling it takes longer than running it.
  if (await page.evaluate("typeof axe === 'undefined'")) await page.evaluate(axe.source);
  const rules = theme === 'dark' ? { runOnly: COLOUR_RULES } : {};
  const options = JSON.stringify({ resultTypes: ['violations'], ...rules });
  const { violations } = await page.evaluate<axe.AxeResults>(`axe.run(${options})`);
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
