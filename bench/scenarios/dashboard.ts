/**
 * The page of a long run, in a real browser: how long after opening its address the end of the run can be read, and how
 * long until all of it can. The page itself is in the browser's cache, as it is for everybody who uses it twice.
 */
import { chromium, type Page } from 'playwright-core';
import { CHROMIUM, FLAGS } from '../../test/client/browser.ts';
import { writeLongRun } from '../../test/dashboard/support/long-run.ts';
import type { Missing, Row } from '../rows.ts';
import type { Stage } from '../stage.ts';

const ROUNDS = 5;

export async function dashboard(stage: Stage): Promise<(Row | Missing)[]> {
  if (CHROMIUM === undefined) return [{ what: 'the page of a long run', missing: 'no Chromium' }];
  const dataDir = stage.directory();
  const short = await writeLongRun(dataDir, 10_000);
  const long = await writeLongRun(dataDir, 100_000);
  const server = await stage.server({ dataDir });
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
  try {
    const page = await browser.newPage();
    const measure = async (runId: string) => {
      const url = `${server.url}/ui/runs/${runId}`;
      await open(page, url);
      const rounds = { end: [] as number[], all: [] as number[] };
      for (let round = 0; round < ROUNDS; round++) {
        const { end, all } = await open(page, url);
        rounds.end.push(end);
        rounds.all.push(all);
      }
      return rounds;
    };
    const tenThousand = await measure(short);
    const hundredThousand = await measure(long);
    const row = (what: string, ours: number[], atMost: number): Row => {
      return { what, unit: 'ms', better: 'less', ours, aim: { of: 'ours', atMost } };
    };
    return [
      row('page of 10,000 events: all read', tenThousand.all, 1_000),
      row('page of 100,000 events: its end shown', hundredThousand.end, 500),
      row('page of 100,000 events: all read', hundredThousand.all, 3_000),
    ];
  } finally {
    await browser.close();
  }
}

async function open(page: Page, url: string): Promise<{ end: number; all: number }> {
  await page.goto('about:blank');
  const begun = performance.now();
  await page.goto(url, { waitUntil: 'commit' });
  await page.getByText('The run is done.').waitFor();
  const end = performance.now() - begun;
  await page.getByText('all events read').waitFor();
  return { end, all: performance.now() - begun };
}
