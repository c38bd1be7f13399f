/** A run that is watched while its server dies and comes back, or while the network does. */
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { script } from '../support/model-server.ts';
import type { RunningServer } from '../support/server-settings.ts';
import { UnreliableProxy } from '../support/unreliable-proxy.ts';
import { browser, describeInBrowser } from './support/browser.ts';
import {
  type DashboardServer,
  startDashboardProcess,
  startDashboardServer,
} from './support/dashboard-server.ts';

/** The connection breaks off after each of them. */
const PIECES = 5;

/** A server that comes back at another port, behind a fixed address. */
async function startWorld<Server extends RunningServer>(start: () => Promise<DashboardServer<Server>>) {
  const dash = await start();
  const proxy = await UnreliableProxy.start(() => dash.server.url, 1);
  return {
    dash,
    proxy,
    ui: (path: string) => `${proxy.url}/ui/${path}#key=${dash.key}`,
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      await dash[Symbol.asyncDispose]();
    },
  };
}

/** What the transcript says of the events: the prompt, which here holds the script of the model, is no part of it. */
const said = async (page: Page) =>
  (await page.locator('.row').allInnerTexts()).join(' ').replace(/\s+/g, ' ');
const shows = (page: Page, text: string) => page.locator('.row', { hasText: text }).first().waitFor();
const count = (text: string, part: string) => text.split(part).length - 1;

describeInBrowser('a run that is watched', () => {
  test('through kill -9 of the server: the connection is shown, then everything, once, with the repeated step marked', async () => {
    await using world = await startWorld(startDashboardProcess);
    const { dash } = world;
    const input = script([
      { text: 'A first step.', tools: [{ name: 'terminal', arguments: { command: 'echo once' } }] },
      { chunks: ['Half of ', 'the answer', { gate: 'rest' }, ' and the rest.'] },
    ]);
    const { run_id } = await dash.client.runs.create({ input });
    const { page, problems } = await browser.open();
    await page.goto(world.ui(`runs/${run_id}`));
    await shows(page, 'Half of the answer');
    await dash.server.kill('SIGKILL');
    await page.getByText(/connection lost, reconnecting/).waitFor();
    // The connection is no state of the run.
    expect(await page.locator('.run-facts .status').innerText()).toContain('running');
    await dash.server.start();
    await dash.model.waitingAt('rest');
    dash.model.open('rest');
    await page.getByText('The run is done.').waitFor();
    const text = await said(page);
    expect(count(text, 'A first step.')).toBe(1);
    expect(count(text, 'Half of the answer and the rest.')).toBe(1);
    expect(text).toContain('Step 2 · cut off by a restart, repeated below');
    expect(text).toContain('repeated below Half of the answer');
    expect(text).toContain('The server was restarted, and the run continues.');
    expect(await page.getByRole('heading', { name: /^Step 2/ }).count()).toBe(2);
    expect(problems).toEqual([]);
  });

  test('through a network that breaks off again and again: every piece comes once', {
    tags: ['soak'],
  }, async () => {
    await using world = await startWorld(startDashboardServer);
    const { dash, proxy } = world;
    const pieces = Array.from({ length: PIECES }, (_, i) => [`piece-${i} `, { gate: `gate-${i}` }]).flat();
    const { run_id } = await dash.client.runs.create({ input: script([{ chunks: pieces }]) });
    const { page } = await browser.open();
    await page.goto(world.ui(`runs/${run_id}`));
    for (let piece = 0; piece < PIECES; piece++) {
      await shows(page, `piece-${piece}`);
      proxy.cutAll();
      dash.model.open(`gate-${piece}`);
    }
    await page.getByText('The run is done.').waitFor();
    const text = await said(page);
    for (let piece = 0; piece < PIECES; piece++) expect(count(text, `piece-${piece} `)).toBe(1);
    expect(text).not.toContain('repeated');
  });
});
