/** Traces: a run is one trace, whoever works on it, and a failing receiver costs a run nothing. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { script } from '../support/model-server.ts';
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '../support/otlp-receiver.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { waitFor } from '../support/wait-for.ts';
import { endsAs, ServerWithModel, terminal, waitForApproval } from './server-with-model.ts';

const SECRET = 'onyx3Thicket6Bramble1Cedar';
const HEADER_SECRET = 'maple2Quartz8Lantern5Drift';
/** In the message of a provider. */
const FAILURE = 'birch7Pebble4Harbor9Moss';
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CALLER = '00f067aa0ba902b7';

let receiver: OtlpReceiver;
let world: ServerWithModel<ServerProcess>;

beforeAll(async () => {
  receiver = await startOtlpReceiver();
  world = await ServerWithModel.startProcess({
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_HEADERS: `x-api-key=${HEADER_SECRET}`,
    OTEL_SERVICE_NAME: 'garden',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    OPENAI_API_KEY: SECRET,
    TALARIA_MODEL_RETRIES: '1',
    TALARIA_LOG_LEVEL: 'trace',
    TALARIA_MAX_CONCURRENT_RUNS: '1',
  });
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

/** The spans of a run, when its own has come: it is sent last. */
async function traceOf(runId: string): Promise<ReceivedSpan[]> {
  const root = await waitFor('the span of the run', () =>
    receiver.spans.find(({ attributes }) => attributes['talaria.run.id'] === runId),
  );
  return receiver.spans.filter(({ traceId }) => traceId === root.traceId);
}

/** Of a run that began its trace. */
function ofTrace(runId: string): ReceivedSpan[] {
  return receiver.spans.filter(({ traceId }) => traceId === runId.slice('run_'.length));
}

function named(spans: readonly ReceivedSpan[], name: string): ReceivedSpan[] {
  return spans.filter((span) => span.name === name);
}

describe('a server', () => {
  test('shows a run with steps, tools and an approval by the conventions, without any text of the run', async () => {
    const { api } = world;
    const runId = await api.create(
      script([
        {
          tools: [
            terminal(`echo ${SECRET}`),
            terminal(`rm -rf build ${SECRET}`),
            { name: `${SECRET}-tool`, arguments: {} },
          ],
        },
        { text: `It is ${SECRET}` },
      ]),
      { session_id: SECRET },
    );
    await waitForApproval(api, runId);
    await api.approve(runId, 'once');
    await endsAs(api, runId, 'run.completed');

    const spans = await traceOf(runId);
    const [root, ...others] = named(spans, 'invoke_agent hermes-agent');
    expect(others).toEqual([]);
    expect(root).toMatchObject({
      traceId: runId.slice('run_'.length),
      parentSpanId: undefined,
      failed: false,
    });
    expect(root!.attributes).toEqual({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'hermes-agent',
      'talaria.run.id': runId,
      'talaria.run.status': 'completed',
      'gen_ai.usage.input_tokens': 20,
      'gen_ai.usage.output_tokens': 10,
    });
    const below = spans.filter((span) => span !== root);
    for (const span of below) {
      expect(span.parentSpanId).toBe(root!.spanId);
      expect(span.startMs).toBeGreaterThanOrEqual(root!.startMs);
      expect(span.endMs).toBeLessThanOrEqual(root!.endMs);
    }
    expect(below.map(({ name }) => name).sort()).toEqual([
      'approval',
      'chat scripted',
      'chat scripted',
      'execute_tool other',
      'execute_tool terminal',
      'execute_tool terminal',
      'queue',
    ]);
    const [first, last] = named(spans, 'chat scripted').sort((a, b) => a.startMs - b.startMs);
    expect(first).toMatchObject({ kind: 3, failed: false });
    expect(first!.attributes).toEqual({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai-compatible',
      'gen_ai.request.model': 'scripted',
      'gen_ai.response.finish_reasons': ['tool_calls'],
      'gen_ai.usage.input_tokens': 10,
      'gen_ai.usage.output_tokens': 5,
    });
    expect(last!.attributes['gen_ai.response.finish_reasons']).toEqual(['stop']);
    expect(named(spans, 'approval')[0]!.attributes).toEqual({ 'talaria.approval.outcome': 'once' });
    expect(named(spans, 'execute_tool other')[0]).toMatchObject({
      failed: true,
      attributes: { 'error.type': 'error', 'gen_ai.tool.name': 'other' },
    });

    expect(receiver.requests[0]!.path).toBe('/v1/traces');
    expect(receiver.requests[0]!.headers['x-api-key']).toBe(HEADER_SECRET);
    expect(receiver.resource).toMatchObject({
      'service.name': 'garden',
      'deployment.environment.name': 'test',
    });
    for (const word of [SECRET, HEADER_SECRET, 'echo', 'rm -rf']) expect(receiver.text).not.toContain(word);
  });

  test('shows steps that fail, runs that fail and runs that are stopped', async () => {
    const { api } = world;
    const failed = await api.create(script([{ error: { status: 503, message: FAILURE, retryAfterMs: 1 } }]));
    await endsAs(api, failed, 'run.failed');
    const spans = await traceOf(failed);
    for (const step of named(spans, 'chat scripted')) {
      expect(step).toMatchObject({ failed: true, attributes: { 'error.type': 'provider_unavailable' } });
    }
    expect(named(spans, 'chat scripted')).toHaveLength(2);
    expect(named(spans, 'invoke_agent hermes-agent')[0]).toMatchObject({
      failed: true,
      attributes: { 'error.type': 'provider_unavailable', 'talaria.run.status': 'failed' },
    });

    const stopped = await api.create(script([{ tools: [terminal('sleep 600')] }]));
    await waitFor('the call', async () => (await api.run(stopped)).last_event === 'tool.started');
    await api.stop(stopped);
    await endsAs(api, stopped, 'run.cancelled');
    const ended = await traceOf(stopped);
    expect(named(ended, 'execute_tool terminal')[0]!.attributes['error.type']).toBe('aborted');
    expect(named(ended, 'invoke_agent hermes-agent')[0]!.attributes['talaria.run.status']).toBe('cancelled');
    expect(receiver.text).not.toContain(FAILURE);
  });

  test('lets a receiver that is down cost a run nothing, and the log one line; when it is back, so are the spans', async () => {
    const { api, server } = world;
    const lines = (part: string) => server.errors.split('\n').filter((line) => line.includes(part));
    receiver.answer(400);
    await endsAs(api, await api.create('one'), 'run.completed');
    await waitFor('the line in the log', () => lines('traces cannot be sent').length > 0);
    const refused = receiver.requests.length;
    await endsAs(api, await api.create('two'), 'run.completed');
    await waitFor('another attempt', () => receiver.requests.length > refused);
    receiver.answer(200);
    const runId = await api.create('three');
    await endsAs(api, runId, 'run.completed');
    await traceOf(runId);
    await waitFor('the line in the log', () => lines('traces are sent again').length > 0);
    expect(lines('traces cannot be sent')).toHaveLength(1);
    expect(server.errors).not.toContain(HEADER_SECRET);
  });
});

describe('after kill -9 of a server with one run at work and others in the queue', () => {
  let busy: string;
  let traced: string;
  let unsampled: string;
  let broken: string;

  beforeAll(async () => {
    const { model, server } = world;
    busy = await world.api.create(
      script([{ tools: [terminal('echo hi')] }, { chunks: ['a ', { gate: 'go' }, 'b'] }]),
    );
    traced = await world.api.create('hello', {}, { traceparent: `00-${TRACE}-${CALLER}-01` });
    unsampled = await world.api.create('hello', {}, { traceparent: `00-${TRACE}-${CALLER}-00` });
    broken = await world.api.create('hello', {}, { traceparent: 'nonsense' });
    await model.waitingAt('go');
    await waitFor('the spans before the kill', () =>
      ofTrace(busy).some(({ name }) => name === 'execute_tool terminal'),
    );
    await server.kill();
    await server.start();
    model.open('go');
    for (const runId of [busy, traced, unsampled, broken]) await endsAs(world.api, runId, 'run.completed');
  });

  test('the run continues in the same trace', async () => {
    const spans = await traceOf(busy);
    expect(spans.map(({ name }) => name).sort()).toEqual([
      'chat scripted',
      'chat scripted',
      'execute_tool terminal',
      'invoke_agent hermes-agent',
      'queue',
      'resume',
    ]);
    const [root] = named(spans, 'invoke_agent hermes-agent');
    for (const span of spans) {
      expect(span.traceId).toBe(busy.slice('run_'.length));
      if (span !== root) expect(span.parentSpanId).toBe(root!.spanId);
    }
  });

  test('a run that waited belongs to the trace of whoever requested it', async () => {
    const spans = await traceOf(traced);
    const [root] = named(spans, 'invoke_agent hermes-agent');
    expect(root).toMatchObject({ traceId: TRACE, parentSpanId: CALLER });
    expect(spans.map(({ name }) => name).sort()).toEqual([
      'chat scripted',
      'invoke_agent hermes-agent',
      'queue',
    ]);
    for (const span of spans) if (span !== root) expect(span.parentSpanId).toBe(root!.spanId);
    const [own] = named(await traceOf(broken), 'invoke_agent hermes-agent');
    expect(own).toMatchObject({ traceId: broken.slice('run_'.length), parentSpanId: undefined });
    // The client that began the trace did not want it recorded.
    expect(receiver.text).not.toContain(unsampled);
  });
});

// Last: nothing listens afterwards.
test('a server that ends sends the rest, and does not wait for a receiver that is gone', async () => {
  const runId = await world.api.create('hello');
  await endsAs(world.api, runId, 'run.completed');
  expect(await world.server.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  const [root, ...others] = named(receiver.spans, 'invoke_agent hermes-agent').filter(
    ({ attributes }) => attributes['talaria.run.id'] === runId,
  );
  expect(root).toBeDefined();
  expect(others).toEqual([]);

  await receiver[Symbol.asyncDispose]();
  await world.server.start();
  await endsAs(world.api, await world.api.create('hello'), 'run.completed');
  expect(await world.server.kill('SIGTERM')).toEqual({ code: 0, signal: null });
});
