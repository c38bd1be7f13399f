/** How the client handles the answers of an API server in trouble. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ContainerDirectory } from '../containers/container-directory.ts';
import { AGENT_NAME, makeCertificates } from '../nomad/testing/certificates.ts';
import { KubernetesApi } from './kubernetes-api.ts';
import { DEFAULT_SETTINGS } from './kubernetes-backend.ts';
import { KubernetesDriver } from './kubernetes-driver.ts';
import type { Pod } from './kubernetes-types.ts';
import { type Answering, say, standIn } from './testing/api-stand-in.ts';

const NAME = 'talaria-1';
const PODS = '/api/v1/namespaces/sandboxes/pods';
const POD: Pod = { metadata: { name: NAME, uid: 'uid' }, status: { phase: 'Pending' } };
const LIST = { metadata: { resourceVersion: '7' }, items: [POD] };
const NEVER = new AbortController().signal;
const MODIFIED = {
  message:
    'Operation cannot be fulfilled on resourcequotas "pods": the object has been modified; please apply your changes to the latest version and try again',
};

/** Whether the pod is gone. */
const gone = (pod: Pod | undefined) => pod === undefined || undefined;

test.each([
  ['a busy API server', 429, { message: 'too many requests' }, { 'retry-after': '0' }],
  ['a quota that others changed meanwhile', 409, MODIFIED, {}],
])('%s is asked again', async (_, status, body, headers) => {
  await using api = await standIn((_request, response, attempt) =>
    attempt < 2 ? say(response, status, body, headers) : say(response, 201, POD),
  );
  expect(await new KubernetesApi(api.access).createPod(POD)).toEqual(POD);
  expect(api.asked).toEqual(Array(3).fill(`POST ${PODS}`));
});

test('a call fails at once if the API server wants a longer pause than the call may take', async () => {
  await using api = await standIn((_request, response) =>
    say(response, 429, { message: 'too many requests' }, { 'retry-after': '600' }),
  );
  await expect(new KubernetesApi(api.access).createPod(POD)).rejects.toMatchObject({
    code: 'backend_down',
    message: 'Kubernetes refused: too many requests.',
  });
});

test('a pod that exists already is not created again', async () => {
  await using api = await standIn((_request, response) =>
    say(response, 409, { message: 'pods "x" already exists' }),
  );
  await expect(new KubernetesApi(api.access).createPod(POD)).rejects.toThrow('already exists');
  expect(api.asked).toHaveLength(1);
});

test('credentials that are refused are renewed once', async () => {
  const refuse: Answering = (_request, response, attempt) =>
    attempt === 1 ? say(response, 201, POD) : say(response, 401, { message: 'Unauthorized' });
  await using api = await standIn(refuse);
  const client = new KubernetesApi(api.access);
  await client.createPod(POD);
  expect(api.renewals).toEqual([false, true]);
  await expect(client.createPod(POD)).rejects.toThrow('The credentials are not accepted');
  expect(api.renewals).toEqual([false, true, false, true]);
});

test.concurrent.each<[string, Answering]>([
  [
    'is too old by status',
    (_request, response) => say(response, 410, { message: 'too old resource version' }),
  ],
  [
    'is too old by its first event',
    (_request, response) => say(response, 200, { type: 'ERROR', object: { code: 410 } }),
  ],
  [
    'breaks off',
    (_request, response) => {
      response.write(`${JSON.stringify({ type: 'MODIFIED', object: POD })}\n{"type":`);
      response.socket?.end(() => response.socket?.destroy());
    },
  ],
  ['ends at once', (_request, response) => void response.end()],
  ['sends an unknown event', (_request, response) => say(response, 200, { type: 'BOOKMARK', object: {} })],
])('a watch that %s is followed by another list call, after a pause', async (_, watch) => {
  let looks = 0;
  await using api = await standIn((request, response, attempt) => {
    if (api.asked[attempt]?.endsWith('?watch')) return watch(request, response, attempt);
    looks++;
    say(response, 200, looks < 3 ? LIST : { ...LIST, items: [] });
  });
  const began = performance.now();
  expect(await new KubernetesApi(api.access).untilPod(NAME, gone, NEVER)).toBe(true);
  expect(looks).toBe(3);
  expect(performance.now() - began).toBeGreaterThan(900);
});

test('a refused or invalid watch is an error', async () => {
  await using api = await standIn((_request, response, attempt) => {
    if (!api.asked[attempt]?.endsWith('?watch')) say(response, 200, LIST);
    else if (attempt === 1)
      say(response, 200, { type: 'ERROR', object: { code: 500, message: 'etcd is ill' } });
    else response.end('<html>\n');
  });
  const client = new KubernetesApi(api.access);
  await expect(client.untilPod(NAME, gone, NEVER)).rejects.toThrow('Kubernetes refused: etcd is ill.');
  await expect(client.untilPod(NAME, gone, NEVER)).rejects.toMatchObject({ code: 'backend_down' });
});

test("an aborted wait rejects with the caller's reason", async () => {
  await using api = await standIn((_request, response) => say(response, 200, LIST));
  const stop = new AbortController();
  const waiting = new KubernetesApi(api.access).untilPod(NAME, gone, stop.signal);
  await expect.poll(() => api.asked.length).toBeGreaterThan(1);
  const reason = new Error('enough');
  stop.abort(reason);
  await expect(waiting).rejects.toBe(reason);
});

test('the error for a pod that does not run in time names what the pod waits for', async () => {
  const status = {
    phase: 'Pending',
    containerStatuses: [{ state: { waiting: { reason: 'ContainerCreating' } } }],
  };
  await using api = await standIn((request, response, attempt) => {
    if (request.method === 'POST') say(response, 201, POD);
    else if (!api.asked[attempt]?.endsWith('?watch'))
      say(response, 200, { ...LIST, items: [{ ...POD, status }] });
  });
  const driver = new KubernetesDriver({
    ...{ settings: { ...DEFAULT_SETTINGS, image: 'sandbox:1' }, allowNetwork: false, runningWithinMs: 500 },
    connect: async () => new KubernetesApi(api.access),
  });
  const request = { name: NAME, labels: {}, nested: false, slots: 1, allowNetwork: false, limits: {} };
  const directory = new ContainerDirectory('/nowhere');
  await expect(driver.start({ ...request, backend: {}, directory }, NEVER)).rejects.toMatchObject({
    code: 'container_failed',
    message: expect.stringContaining('did not run within 0.5 s; it is Pending (ContainerCreating)'),
  });
});

test('the error says whether a certificate is not trusted or invalid', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'talaria-kubernetes-tls-'));
  try {
    const { ca, cert, key } = await makeCertificates(dir);
    const secure = { cert: await readFile(cert), key: await readFile(key) };
    await using api = await standIn((_request, response) => say(response, 200, LIST), secure);
    const failure = (tls: object, server = api.access.server) => {
      const access = { ...api.access, server, credentials: async () => ({ token: 'secret', tls }) };
      return new KubernetesApi(access).listPods({ name: NAME }).then(
        () => 'listed',
        ({ message }: Error) => message,
      );
    };
    const authority = await readFile(ca);
    expect(await failure({ ca: authority, servername: AGENT_NAME })).toBe('listed');
    expect(await failure({})).toMatch(
      /not trusted \(UNABLE_TO_VERIFY_LEAF_SIGNATURE\): check the certificate authority/,
    );
    expect(await failure({ ca: authority })).toContain('not trusted (ERR_TLS_CERT_ALTNAME_INVALID)');
    expect(await failure({ ca: 'nonsense', cert: 'nonsense' })).toMatch(
      /over TLS \(ERR_OSSL_.*check the server's address/,
    );
    await using plain = await standIn((_request, response) => say(response, 200, LIST));
    const asTls = plain.access.server.replace('http:', 'https:');
    expect(await failure({}, asTls)).toContain('cannot be reached over TLS');
  } finally {
    await rm(dir, { recursive: true });
  }
});
