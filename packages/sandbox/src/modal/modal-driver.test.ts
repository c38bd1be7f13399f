/** The service accepts calls and answers none of them: every call of the driver still ends. */
import { expect, test } from 'vitest';
import { ContainerDirectory } from '../containers/container-directory.ts';
import { ModalDriver } from './modal-driver.ts';
import type { ModalClient, ModalImage, ModalSandbox, ModalSdk } from './modal-sdk.ts';

const never = <T>(): Promise<T> => new Promise(() => {});
const image: ModalImage = { imageId: 'im-1', dockerfileCommands: () => image, build: async () => image };

function silent(): ModalSandbox {
  return {
    sandboxId: 'sb-1',
    stderr: new ReadableStream(),
    ...{ exec: never, getTags: never, poll: never, terminate: never, detach() {} },
  };
}

async function* listed(sandbox: ModalSandbox | undefined): AsyncGenerator<ModalSandbox> {
  if (sandbox) yield sandbox;
  await never();
}

function clientOf(list: ModalClient['sandboxes']['list'], known?: ModalSandbox): ModalClient {
  const fromName = known ? async () => known : never<ModalSandbox>;
  return {
    ...{ apps: { fromName: never }, images: { fromRegistry: () => image } },
    sandboxes: { create: async () => silent(), fromName, list },
  };
}

function driverOf(client: ModalClient, connect: () => Promise<void> = async () => {}): ModalDriver {
  const sdk = { NotFoundError: Error } as unknown as ModalSdk;
  return new ModalDriver({
    ...{ appName: 'talaria', image: 'debian:13', regions: [], cpus: 1, memoryMb: 512, lifetimeS: 60 },
    answerWithinMs: 50,
    connect: async () => {
      await connect();
      return { sdk, client, app: { appId: 'ap-1' } };
    },
  });
}

async function prepared(known?: ModalSandbox): Promise<ModalDriver> {
  const driver = driverOf(clientOf(() => listed(known), known));
  await driver.prepare();
  return driver;
}

const REQUEST = {
  ...{ name: 'talaria-1', labels: {}, nested: false, slots: 1, allowNetwork: false, limits: {}, backend: {} },
  directory: new ContainerDirectory('/nowhere'),
};
const NEVER = new AbortController().signal;

test.each<[string, (driver: ModalDriver) => Promise<unknown>]>([
  ['list', (driver) => driver.list('talaria.server', 'me')],
  ['reach', (driver) => driver.reach(REQUEST, NEVER)],
  ['ended', (driver) => driver.ended('talaria-1', NEVER)],
  ['remove', (driver) => driver.remove('talaria-1')],
])('%s does not wait for ever', async (_, call) => {
  await expect(call(await prepared(silent()))).rejects.toThrow(/^Modal took more than 0.05 s to /);
});

test.each<[string, (driver: ModalDriver) => Promise<unknown>]>([
  ['list', (driver) => driver.list('talaria.server', 'me')],
  [
    'examine',
    async (driver) => {
      await driver.start(REQUEST, NEVER);
      await driver.examine('talaria-1');
    },
  ],
])('%s does not wait for ever to find a sandbox, either', async (_, call) => {
  await expect(call(await prepared())).rejects.toThrow(/^Modal took more than 0.05 s to /);
});

test('sandboxes that a crash left are found without a start, and after a failed connection', async () => {
  const attempts = [() => Promise.reject(new Error('no token')), async () => {}];
  const none = clientOf(async function* () {});
  const driver = driverOf(none, () => attempts.shift()?.() ?? Promise.reject(new Error('connected twice')));
  await expect(driver.list('talaria.server', 'me')).rejects.toThrow('no token');
  expect(await driver.list('talaria.server', 'me')).toEqual([]);
  await driver.prepare();
});
