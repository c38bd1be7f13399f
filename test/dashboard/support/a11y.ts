/** What axe-core finds in a page: an empty list, in every theme and size. */
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { DESK, PHONE } from './sizes.ts';

interface Violation {
  id: string;
  nodes: { html: string; failureSummary: string }[];
}

/** By theme and size, so that a failure says where it shows. */
export async function violationsOf(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const found: string[] = [];
  for (const viewport of [DESK, PHONE]) {
    await page.setViewportSize(viewport);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      const { violations } = await page.evaluate<{ violations: Violation[] }>('axe.run()');
      for (const { id, nodes } of violations) {
        const where = nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join('\n');
        found.push(`${colorScheme} ${viewport.width}: ${id}\n${where}`);
      }
    }
  }
  await page.setViewportSize(DESK);
  return found;
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
