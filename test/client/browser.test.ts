/** The client in a real browser, in a page of another origin than the server's. */
import type * as clientModule from '@talaria/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ServerWithModel, terminal } from '../e2e/server-with-model.ts';
import { script } from '../support/model-server.ts';
import { UnreliableProxy } from '../support/unreliable-proxy.ts';
import { waitFor } from '../support/wait-for.ts';
import { type BrowserPage, CHROMIUM, openPage } from './browser.ts';

/** The globals of the page, for functions that run in it. */
declare const client: typeof clientModule;

const KEY = 'sk-browser';
const reason = CHROMIUM === undefined ? ' (skipped: there is no Chromium on this machine)' : '';

describe.skipIf(CHROMIUM === undefined)(`in a browser${reason}`, () => {
  let browser: BrowserPage;
  let world: ServerWithModel;
  let proxy: UnreliableProxy;

  beforeAll(async () => {
    browser = await openPage();
    world = await ServerWithModel.start({ API_SERVER_KEY: KEY, API_SERVER_CORS_ORIGINS: browser.origin });
    proxy = await UnreliableProxy.start(() => world.server.url, 1);
  });
  afterAll(async () => {
    await proxy?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
    await browser?.[Symbol.asyncDispose]();
  });

  const connect = () => ({ baseUrl: proxy.url, apiKey: KEY });

  test('a run is created, streamed and approved', async () => {
    const input = script([
      { text: 'I clean up. ', tools: [terminal('rm -rf build; echo cleaned > report.txt')] },
      { text: 'It is clean.' },
    ]);
    const seen = await browser.page.evaluate(
      async ([options, prompt]) => {
        const { runs } = new client.Talaria(options);
        const { run_id } = await runs.create({ input: prompt });
        const stream = runs.streamEvents(run_id);
        const events: string[] = [];
        for await (const event of stream) {
          events.push(event.event);
          if (event.event === 'approval.request') {
            await runs.respondApproval(run_id, { choice: 'once', request_id: event.request_id });
          }
        }
        const report = await (await runs.artifacts.read(run_id, 'report.txt')).text();
        return { events, report, text: await stream.text(), status: (await runs.get(run_id)).status };
      },
      [connect(), input] as const,
    );
    expect(seen.events).toContain('approval.responded');
    expect(seen.events.at(-1)).toBe('run.completed');
    expect(seen).toMatchObject({
      report: 'cleaned\n',
      text: 'I clean up. It is clean.',
      status: 'completed',
    });
  });

  test('a run is stopped', async () => {
    const input = script([{ hang: 'before' }]);
    const end = await browser.page.evaluate(
      async ([options, prompt]) => {
        const { runs } = new client.Talaria(options);
        const { run_id } = await runs.create({ input: prompt });
        const ending = runs.streamEvents(run_id).result();
        await runs.stop(run_id);
        return (await ending).event;
      },
      [connect(), input] as const,
    );
    expect(end).toBe('run.cancelled');
  });

  test('a stream continues after its connection was lost', async () => {
    const input = script([{ chunks: ['one ', { gate: 'lost' }, 'two'] }]);
    const text = browser.page.evaluate(
      async ([options, prompt]) => {
        const { runs } = new client.Talaria(options);
        const { run_id } = await runs.create({ input: prompt });
        return runs.streamEvents(run_id).text();
      },
      [connect(), input] as const,
    );
    await world.model.waitingAt('lost');
    proxy.cutAll();
    world.model.open('lost');
    expect(await text).toBe('one two');
  });

  test('leaving the loop closes the connection', async () => {
    const input = script([{ chunks: ['one ', { gate: 'left' }, 'two'] }]);
    await browser.page.evaluate(
      async ([options, prompt]) => {
        const { runs } = new client.Talaria(options);
        const { run_id } = await runs.create({ input: prompt });
        for await (const _ of runs.streamEvents(run_id)) break;
      },
      [connect(), input] as const,
    );
    await world.model.waitingAt('left');
    const subscribers = async () =>
      (await world.api.get<{ platforms: { api_server: { subscribers: number } } }>('/health/detailed')).body
        .platforms.api_server.subscribers;
    await waitFor('the connection to be closed', async () => (await subscribers()) === 0);
    world.model.open('left');
  });

  test('errors are the same as elsewhere', async () => {
    const names = await browser.page.evaluate(async (options) => {
      const nameOf = (call: PromiseLike<unknown>): PromiseLike<string> =>
        call.then(
          () => 'none',
          (error) => `${error.name} ${error.code}`,
        );
      const { runs } = new client.Talaria(options);
      const wrong = new client.Talaria({ ...options, apiKey: 'sk-wrong' });
      const nowhere = new client.Talaria({ baseUrl: 'http://127.0.0.1:9', maxRetries: 0 });
      return [
        await nameOf(runs.get('run_none')),
        await nameOf(wrong.runs.list()),
        await nameOf(nowhere.health.get()),
        await nameOf(runs.get('run_none', { signal: AbortSignal.abort() })),
      ];
    }, connect());
    expect(names).toEqual([
      'NotFoundError run_not_found',
      'AuthenticationError invalid_api_key',
      'ConnectionError undefined',
      'AbortError 20',
    ]);
  });
});
