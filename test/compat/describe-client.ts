/** The tests of one client: a server and a model, and a test for each capability that the client shows. */
import { afterAll, beforeAll, describe, test } from 'vitest';
import { ServerWithModel } from '../e2e/server-with-model.ts';
import { script } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { capabilities, FILE, IMAGE, type Task } from './capabilities.ts';
import { type Api, FEATURES, type Feature } from './features.ts';
import { type ClientName, type ClientResult, writeClient } from './results.ts';

const KEY = 'sk-compat-0001';
/** Some of the Python clients take ten seconds to load, and more in parallel. */
const START_LIMIT_MS = 180_000;

export type Shown = `${Api}: ${Feature}`;

export interface TestedClient extends ClientName {
  /** Before the first capability is shown, and after the last. */
  start?: () => Promise<void>;
  stop?: () => Promise<void>;
  shows: Partial<Record<Shown, (task: Task) => Promise<unknown>>>;
  /** The library's name for the tool that gives a typed answer. */
  outputTool?: string;
  /** Why none of it can be shown here. */
  skip?: string | undefined;
}

/** For a client that does the same with both APIs. */
export function through(
  api: Api,
  features: Partial<Record<Feature, (task: Task) => Promise<unknown>>>,
): TestedClient['shows'] {
  return Object.fromEntries(Object.entries(features).map(([feature, run]) => [`${api}: ${feature}`, run]));
}

export function describeClient(client: TestedClient): void {
  const title = `${client.name} ${client.version}`;
  if (client.skip !== undefined) {
    describe.skip(`${title} (skipped: ${client.skip})`, () => {
      for (const capability of Object.keys(client.shows)) test(capability, () => {});
    });
    return;
  }

  describe(title, () => {
    let world: ServerWithModel;
    beforeAll(async () => {
      world = await ServerWithModel.start({ API_SERVER_KEY: KEY });
      await client.start?.();
    }, START_LIMIT_MS);
    afterAll(async () => {
      await client.stop?.();
      await world?.[Symbol.asyncDispose]();
    });
    const shown: ClientResult['shown'] = [];
    afterAll(() => {
      const { id, name, version } = client;
      // If only some of the tests run, the stored results of all of them stay.
      if (shown.length === Object.keys(client.shows).length) writeClient({ id, name, version, shown });
    });

    for (const [capability, run] of Object.entries(client.shows)) {
      const [api, feature] = parseShown(capability);
      const { turns, stopped, gate, check } = capabilities(client.outputTool ?? '')[feature];
      test(capability, async ({ onTestFinished }) => {
        onTestFinished(({ task }) => void shown.push({ capability, ok: task.result?.state === 'pass' }));
        const before = await countRuns(world);
        const prompts = turns.map(script);
        const ids = prompts.map((prompt) => /id=(\S+)/.exec(prompt)?.[1]);
        const acting = stopped ? stopWhenAsked(world, ids[0]!) : gate && openWhenBegun(world, ids[0]!, gate);
        const result = await run({
          base_url: `${world.server.url}/v1`,
          api_key: KEY,
          model: 'hermes-agent',
          prompts,
          image: IMAGE,
          file: {
            ...FILE,
            data_url: `data:application/pdf;base64,${Buffer.from(FILE.text).toString('base64')}`,
          },
        });
        await acting;
        const requests = world.model.requests.filter(({ scriptId }) => ids.includes(scriptId));
        check(result, { api, requests, runs: (await countRuns(world)) - before });
      });
    }
  });
}

function parseShown(shown: string): [Api, Feature] {
  const [api, feature] = shown.split(': ') as [Api, Feature];
  if (!FEATURES.includes(feature)) throw new Error(`No such capability: ${shown}`);
  return [api, feature];
}

async function stopWhenAsked({ api, model }: ServerWithModel, scriptId: string): Promise<void> {
  await model.waitForRequest((request) => request.scriptId === scriptId);
  const [run] = (await api.list('?limit=1')).data;
  await api.stop(run!.run_id);
}

/** Text that the model has sent by then would come in one piece. */
async function openWhenBegun({ api, model }: ServerWithModel, scriptId: string, gate: string): Promise<void> {
  await model.waitForRequest((request) => request.scriptId === scriptId);
  await waitFor('the beginning of the answer', async () => {
    const [run] = (await api.list('?limit=1')).data;
    return (run?.last_seq ?? -1) >= 0;
  });
  model.open(gate);
}

async function countRuns({ api }: ServerWithModel): Promise<number> {
  return (await api.list('?limit=200')).data.length;
}
