/** Completion webhooks: who gets which message and how, and that a receiver can do no harm. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Run } from '@talaria/protocol';
import OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Api } from '../support/api.ts';
import { HostedServer } from '../support/hosted-server.ts';
import { script } from '../support/model-server.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { waitFor } from '../support/wait-for.ts';
import { type Behaviour, type Received, WebhookReceiver } from '../support/webhook-receiver.ts';
import { endsAs, names, ServerWithModel, terminal, wholeStream } from './server-with-model.ts';

const DEFAULT_SECRET = `whsec_${Buffer.from('of the configuration').toString('base64')}`;
const OWN_SECRET = 'the secret of the run itself';
const ALLOW = { TALARIA_WEBHOOK_ALLOW_PRIVATE: 'true' };

const said = (text: string) => script([{ text }]);
const asking = () => script([{ tools: [terminal('rm -rf build')] }, { text: 'done' }]);

const openssl = spawnSync('openssl', ['version']).status === 0;
const why = openssl ? '' : ' (skipped: no openssl on this machine, to make a certificate)';

/** Of a receiver on this machine, which the server trusts. */
class Certificate implements Disposable {
  readonly #directory = mkdtempSync(join(tmpdir(), 'talaria-webhook-'));
  readonly keyPath = join(this.#directory, 'key.pem');
  readonly certPath = join(this.#directory, 'cert.pem');

  static make(): Certificate {
    const certificate = new Certificate();
    const { keyPath, certPath } = certificate;
    const kind = '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=localhost';
    const words = `req -x509 ${kind} -keyout ${keyPath} -out ${certPath}`.split(' ');
    const made = spawnSync('openssl', [...words, '-addext', 'subjectAltName=DNS:localhost']);
    expect(made.status, String(made.stderr)).toBe(0);
    return certificate;
  }

  [Symbol.dispose](): void {
    rmSync(this.#directory, { recursive: true });
  }
}

let certificate: Certificate | undefined;
let standard: WebhookReceiver;
let own: WebhookReceiver;
let world: ServerWithModel<ServerProcess>;
let api: Api;
beforeAll(async () => {
  standard = await WebhookReceiver.start();
  certificate = openssl ? Certificate.make() : undefined;
  world = await ServerWithModel.startProcess({
    ...ALLOW,
    TALARIA_WEBHOOK_URL: standard.url,
    TALARIA_WEBHOOK_SECRET: DEFAULT_SECRET,
    TALARIA_LOG_LEVEL: 'debug',
    ...(certificate && { NODE_EXTRA_CA_CERTS: certificate.certPath }),
  });
  api = world.api;
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await standard[Symbol.asyncDispose]();
  certificate?.[Symbol.dispose]();
});
beforeEach(async () => {
  own = await WebhookReceiver.start();
});
afterEach(() => own[Symbol.asyncDispose]());

function settled(runId: string, of: Api = api): Promise<Run> {
  return waitFor(`the messages of ${runId} to be settled`, async () => {
    const run = await of.run(runId);
    return run.webhook?.pending === 0 && run.webhook.delivered + run.webhook.failed > 0 && run;
  });
}

function verified({ body, headers }: Received, secret: string): Promise<unknown> {
  return new OpenAI({ apiKey: 'none' }).webhooks.unwrap(body, headers as Record<string, string>, secret);
}

const about = (receiver: WebhookReceiver, runId: string) =>
  receiver.received.filter(({ message }) => message.data.run_id === runId);

describe('a webhook of a run', () => {
  test('gets the end of the run, signed, in the form of the stream', async () => {
    const webhook = { url: own.url, secret: OWN_SECRET };
    const runId = await api.create(said('hello'), { webhook, session_id: 'a session' });
    const { frames } = await endsAs(api, runId, 'run.completed');
    const { webhook: shown } = await settled(runId);
    expect(shown).toEqual({ origin: own.origin, pending: 0, delivered: 1, failed: 0, last_error: null });
    const [received] = await own.receives(1);
    expect(await verified(received!, OWN_SECRET)).toEqual({
      id: received!.headers['webhook-id'],
      object: 'event',
      type: 'run.completed',
      created_at: frames.at(-1)!.event.timestamp,
      session_id: 'a session',
      data: frames.at(-1)!.event,
    });
    expect(received!.headers).toMatchObject({ 'content-type': 'application/json' });
    expect(received!.headers['user-agent']).toMatch(/^talaria\/\d/);
  });

  test('gets a pending approval, and can answer it', async () => {
    const runId = await api.create(asking(), { webhook: { url: own.url } });
    await own.receives(1);
    const { message, headers } = own.received[0]!;
    expect(headers).not.toHaveProperty('webhook-signature');
    if (message.type !== 'approval.request') throw new Error(`Received ${message.type}`);
    expect(message.data).toMatchObject({ run_id: runId, command: 'rm -rf build' });
    await api.approve(runId, 'deny', { request_id: message.data.request_id });
    await own.receives(2);
    expect(own.received.map((each) => each.message.type)).toEqual(['approval.request', 'run.completed']);
  });

  test('gets a failure and a stop', async () => {
    const webhook = { url: own.url };
    const failing = await api.create(script([{ error: { status: 400, message: 'no' } }]), { webhook });
    await endsAs(api, failing, 'run.failed');
    await own.receives(1);
    expect(own.received[0]!.message).toMatchObject({ type: 'run.failed', data: { run_id: failing } });
    const stopped = await api.create(asking(), { webhook });
    await own.receives(2);
    await api.stop(stopped);
    await own.receives(3);
    expect(own.received[2]!.message).toMatchObject({ type: 'run.cancelled', data: { run_id: stopped } });
  });

  test('replaces the default, and null switches that off', async () => {
    const plain = await api.create(said('plain'));
    const other = await api.create(said('other'), { webhook: { url: own.url } });
    const silent = await api.create(said('silent'), { webhook: null });
    for (const runId of [plain, other, silent]) await api.finish(runId);
    await settled(plain);
    await settled(other);
    expect(await verified(about(standard, plain)[0]!, DEFAULT_SECRET)).toMatchObject({
      type: 'run.completed',
    });
    expect(about(standard, other)).toEqual([]);
    expect(about(own, other)).toHaveLength(1);
    expect((await api.run(plain)).webhook).toMatchObject({ origin: standard.origin });
    expect(await api.run(silent)).not.toHaveProperty('webhook');
    expect(about(standard, silent)).toEqual([]);
  });

  test('gets the message again when it fails, and once when it works', async () => {
    own.behaviour = 500;
    const runId = await api.create(said('again'), { webhook: { url: own.url, secret: OWN_SECRET } });
    await api.finish(runId);
    const failing = await waitFor('a failed attempt', async () => {
      const { webhook } = await api.run(runId);
      return webhook?.last_error != null && webhook;
    });
    expect(failing).toMatchObject({ pending: 1, delivered: 0, last_error: 'the receiver answered 500' });
    const health = await api.get<{ webhooks: { pending: number } }>('/health/detailed');
    expect(health.body.webhooks.pending).toBeGreaterThanOrEqual(1);
    own.behaviour = 200;
    expect((await settled(runId)).webhook).toMatchObject({ delivered: 1, failed: 0 });
    const [first, second, ...more] = own.received;
    expect(more).toEqual([]);
    expect(second!.body).toBe(first!.body);
    expect(second!.headers['webhook-id']).toBe(first!.headers['webhook-id']);
    await verified(second!, OWN_SECRET);
  });

  test('is never shown with what may be secret', async () => {
    own.behaviour = 410;
    const runId = await api.create(said('quiet'), { webhook: { url: own.url, secret: OWN_SECRET } });
    await api.finish(runId);
    const run = await settled(runId);
    const shown = JSON.stringify([run, await api.list(), (await api.stream(runId)).frames]);
    const logged = world.server.output + world.server.errors;
    expect(logged).toContain('a webhook message is given up: the receiver answered 410');
    for (const secret of [OWN_SECRET, DEFAULT_SECRET, 'of-the-query', '/hook']) {
      expect(shown).not.toContain(secret);
      expect(logged).not.toContain(secret);
    }
  });

  test.each<[string, unknown, string]>([
    ['no URL', {}, 'webhook.url'],
    ['a bad URL', { url: 'hooks' }, 'webhook.url'],
    ['a password', { url: 'https://ada:hunter22@example.com' }, 'webhook.url'],
    ['a bad secret', { url: 'https://example.com', secret: 'hunter22' }, 'webhook.secret'],
    ['a string', 'https://example.com', 'webhook'],
  ])('is refused with %s, and nothing is left behind', async (_, webhook, param) => {
    const before = (await api.list()).data.length;
    const answer = await api.post('/v1/runs', { input: 'x', webhook });
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'invalid_webhook', param } } });
    expect(JSON.stringify(answer.body)).not.toContain('hunter22');
    expect((await api.list()).data).toHaveLength(before);
  });
});

describe('a receiver', () => {
  const title = 'that does its worst (%s) changes nothing about the run';
  test.each<Behaviour | 'unreachable'>(['hang'])(title, changesNothing);
  // post-message.test.ts shows without a run what becomes of their messages.
  test.each<Behaviour | 'unreachable'>(['trickle', 'close', 'flood', 'garbage', 503, 'unreachable'])(
    title,
    { tags: ['soak'] },
    changesNothing,
  );

  async function changesNothing(behaviour: Behaviour | 'unreachable'): Promise<void> {
    if (behaviour !== 'unreachable') own.behaviour = behaviour;
    const { url } = own;
    if (behaviour === 'unreachable') await own[Symbol.asyncDispose]();
    const work = () => script([{ tools: [terminal('echo one')] }, { text: 'done' }]);
    const told = await api.create(work(), { webhook: { url } });
    const untold = await api.create(work(), { webhook: null });
    expect(names(await wholeStream(api, told))).toEqual(names(await wholeStream(api, untold)));
    expect(await api.run(told)).toMatchObject({ status: 'completed', output: 'done' });
    expect((await api.get('/health')).status).toBe(200);
    if (behaviour === 'unreachable') own = await WebhookReceiver.start();
  }

  test('is not redirected', async () => {
    await using elsewhere = await WebhookReceiver.start();
    own.behaviour = { redirect: elsewhere.url };
    const runId = await api.create(said('redirected'), { webhook: { url: own.url } });
    const { webhook } = await waitFor('a failed attempt', async () => {
      const run = await api.run(runId);
      return run.webhook?.last_error != null && run;
    });
    expect(webhook?.last_error).toBe('the receiver answered 302, and redirects are not followed');
    expect(elsewhere.received).toEqual([]);
  });
});

describe('a message outlives', () => {
  test('kill -9 between the end of the run and its delivery', { tags: ['soak'] }, async () => {
    await using mortal = await ServerWithModel.startProcess({
      ...ALLOW,
      TALARIA_FAILPOINTS: 'run.after-terminal',
    });
    const webhook = { url: own.url, secret: OWN_SECRET };
    const runId = await mortal.api.create(said('last words'), { webhook });
    expect(await mortal.server.exited()).toMatchObject({ signal: 'SIGKILL' });
    const heard = own.received.length;
    await mortal.server.start({ TALARIA_FAILPOINTS: '' });
    expect((await settled(runId, mortal.api)).webhook).toMatchObject({ delivered: 1 });
    // Twice, if it died between sending and recording that; then with the same id.
    expect(own.received.length).toBeLessThanOrEqual(heard + 1);
    expect(new Set(own.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    await verified(own.received.at(-1)!, OWN_SECRET);
  });

  test('kill -9 between its delivery and the record of it: it comes twice, with the same id', async () => {
    await using mortal = await ServerWithModel.startProcess({
      ...ALLOW,
      TALARIA_FAILPOINTS: 'webhook.after-send',
    });
    const runId = await mortal.api.create(said('twice'), { webhook: { url: own.url } });
    expect(await mortal.server.exited()).toMatchObject({ signal: 'SIGKILL' });
    expect(own.received).toHaveLength(1);
    await mortal.server.start({ TALARIA_FAILPOINTS: '' });
    expect((await settled(runId, mortal.api)).webhook).toMatchObject({ delivered: 1, last_error: null });
    const [first, second, ...more] = own.received;
    expect(more).toEqual([]);
    expect(second!.headers['webhook-id']).toBe(first!.headers['webhook-id']);
    expect(second!.body).toBe(first!.body);
  });

  test('kill -9 while it is being sent', { tags: ['soak'] }, async () => {
    await using mortal = await ServerWithModel.startProcess(ALLOW);
    own.behaviour = 'hang';
    const runId = await mortal.api.create(said('cut off'), { webhook: { url: own.url } });
    await own.receives(1);
    await mortal.server.kill('SIGKILL');
    own.behaviour = 204;
    await mortal.server.start();
    expect((await settled(runId, mortal.api)).webhook).toMatchObject({ delivered: 1 });
    expect(own.received).toHaveLength(2);
    expect(own.received[1]!.body).toBe(own.received[0]!.body);
  });

  test('a stop of the server, which does not wait for its receiver', async () => {
    await using mortal = await ServerWithModel.start(ALLOW);
    own.behaviour = 'hang';
    const runId = await mortal.api.create(said('later'), { webhook: { url: own.url } });
    await own.receives(1);
    await mortal.server.restart({}, () => {
      own.behaviour = 204;
    });
    expect((await settled(runId, mortal.api)).webhook).toMatchObject({ delivered: 1, last_error: null });
  });

  test('the run it is about', async () => {
    await using brief = await ServerWithModel.start({ ...ALLOW, TALARIA_RUN_RETENTION_SECONDS: '0' });
    own.behaviour = 503;
    const runId = await brief.api.create(said('gone'), { webhook: { url: own.url, secret: OWN_SECRET } });
    await waitFor(
      'the run to be evicted',
      async () => (await brief.api.get(`/v1/runs/${runId}`)).status === 404,
    );
    await own.receives(1);
    own.behaviour = 204;
    await own.receives(2, 20_000);
    await verified(own.received[1]!, OWN_SECRET);
    await waitFor('nothing to be pending', async () => {
      const { body } = await brief.api.get<{ webhooks: { pending: number } }>('/health/detailed');
      return body.webhooks.pending === 0;
    });
  });
});

test.skipIf(!openssl)(`a TLS receiver gets the message if its certificate is trusted${why}`, async () => {
  const { keyPath, certPath } = certificate!;
  const paths: (string | undefined)[] = [];
  const receiver = createServer(
    { key: readFileSync(keyPath), cert: readFileSync(certPath) },
    (incoming, response) => {
      paths.push(incoming.url);
      response.writeHead(204).end();
    },
  );
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  try {
    const url = `https://localhost:${(receiver.address() as AddressInfo).port}/tls?a=b`;
    const runId = await api.create(said('sealed'), { webhook: { url } });
    expect((await settled(runId)).webhook).toMatchObject({ delivered: 1, last_error: null });
    expect(paths).toEqual(['/tls?a=b']);
  } finally {
    receiver.close();
  }
});

describe('a server that calls no private addresses', () => {
  let strict: ServerWithModel;
  beforeAll(async () => {
    strict = await ServerWithModel.start();
  });
  afterAll(() => strict[Symbol.asyncDispose]());

  test.each(['http://127.0.0.1:9/', 'http://[::1]/', 'http://169.254.169.254/latest', 'https://2130706433/'])(
    'refuses %s',
    async (url) => {
      const answer = await strict.api.post('/v1/runs', { input: 'x', webhook: { url } });
      expect(answer).toMatchObject({
        status: 400,
        body: { error: { code: 'invalid_webhook', param: 'webhook.url' } },
      });
      expect((await strict.api.list()).data).toEqual([]);
    },
  );

  test('refuses one as its default, at the start', async () => {
    const start = HostedServer.start({ env: { TALARIA_WEBHOOK_URL: 'http://127.0.0.1:9/' } });
    await expect(start).rejects.toThrow('TALARIA_WEBHOOK_URL leads to 127.0.0.1, which is not public');
  });
});
