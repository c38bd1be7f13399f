/** Looks for barriers in a page with axe-core. A page must have none, in any theme and in any size. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { DESK, PHONE } from './sizes.ts';

/** The minified one: a page compiles it in two thirds of the time. */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** A theme decides the colours of a page, a size its layout. */
export interface Look {
  readonly colorScheme: 'light' | 'dark';
  readonly viewport: typeof DESK;
}

export const LIGHT_DESK: Look = { colorScheme: 'light', viewport: DESK };
export const DARK_PHONE: Look = { colorScheme: 'dark', viewport: PHONE };
const LOOKS: readonly Look[] = [
  LIGHT_DESK,
  DARK_PHONE,
  { colorScheme: 'dark', viewport: DESK },
  { colorScheme: 'light', viewport: PHONE },
];

/** For the soak tests: axe takes most of the time of a test, so the others take one look. */
export const looksBut = (taken: Look): readonly Look[] => LOOKS.filter((look) => look !== taken);

/**
 * By theme and size, so that a failure says where it shows. `within` names the part of the page that is new, where
 * another test looks at the rest: axe takes as long as the page has nodes.
 */
export async function violationsOf(
  page: Page,
  within?: string,
  looks = [LIGHT_DESK] as readonly Look[],
): Promise<string[]> {
  const found: string[] = [];
  for (const { colorScheme, viewport } of looks) {
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme });
    const violations = await violationsIn(page, within);
    found.push(...violations.map((violation) => `${colorScheme} ${viewport.width}: ${violation}`));
  }
  await page.setViewportSize(DESK);
  return found;
}

/** In the theme and size that the page has. */
export async function violationsIn(page: Page, within?: string): Promise<string[]> {
  // Compiling it takes longer than running it.
  if (await page.evaluate("typeof axe === 'undefined'")) await page.evaluate(AXE);
  const part = within === undefined ? 'document' : JSON.stringify(within);
  const { violations } = await page.evaluate<AxeResults>(`axe.run(${part}, { resultTypes: ['violations'] })`);
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
