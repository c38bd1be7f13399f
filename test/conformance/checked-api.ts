/**
 * The plain client, which checks every response: the security headers, the error envelope, the schema of the route, and
 * for streams the schema and order of every event. Every test checks these too.
 */
import { isTerminalEvent } from '@talaria/protocol';
import * as schemas from '@talaria/protocol/schemas';
import Type, { type TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import { afterAll, afterEach, beforeEach, expect } from 'vitest';
import { type Answer, Api, type Frame, type Streamed, type StreamOptions } from '../support/api.ts';
import { checkAnswer } from './every-answer.ts';

const ID = '[^/]*';
const ANSWERS: [string, RegExp, TSchema][] = [
  ['GET', /^\/(v1\/)?health$/, schemas.HealthSchema],
  ['GET', /^\/health\/detailed$/, schemas.HealthDetailedSchema],
  ['GET', /^\/v1\/models$/, schemas.ModelListSchema],
  ['GET', new RegExp(`^/v1/models/${ID}$`), schemas.ModelSchema],
  ['GET', /^\/v1\/capabilities$/, schemas.CapabilitiesSchema],
  ['GET', /^\/v1\/skills$/, schemas.SkillListSchema],
  ['GET', /^\/v1\/toolsets$/, schemas.ToolsetListSchema],
  ['GET', /^\/v1\/directories$/, schemas.DirectoryListSchema],
  ['GET', /^\/api\/model\/options$/, schemas.ModelOptionsSchema],
  ['POST', /^\/v1\/chat\/completions$/, schemas.ChatCompletionSchema],
  ['POST', /^\/v1\/completions$/, schemas.CompletionSchema],
  ['POST', /^\/v1\/responses$/, schemas.ResponseObjectSchema],
  ['GET', new RegExp(`^/v1/responses/${ID}$`), schemas.ResponseObjectSchema],
  ['DELETE', new RegExp(`^/v1/responses/${ID}$`), schemas.ResponseDeletedSchema],
  ['POST', new RegExp(`^/v1/responses/${ID}/cancel$`), schemas.ResponseObjectSchema],
  ['POST', /^\/v1\/runs$/, schemas.RunCreatedSchema],
  ['GET', /^\/v1\/runs$/, schemas.RunListSchema],
  ['GET', new RegExp(`^/v1/runs/${ID}$`), schemas.RunSchema],
  ['PATCH', new RegExp(`^/v1/runs/${ID}$`), schemas.RunSchema],
  ['GET', new RegExp(`^/v1/runs/${ID}/calls/${ID}$`), schemas.RunCallSchema],
  ['GET', new RegExp(`^/v1/runs/${ID}/artifacts$`), schemas.ArtifactListSchema],
  ['GET', new RegExp(`^/v1/runs/${ID}/diff$`), schemas.RunDiffSchema],
  ['PUT', new RegExp(`^/v1/runs/${ID}/artifacts/content$`), schemas.WrittenArtifactSchema],
  ['DELETE', new RegExp(`^/v1/runs/${ID}/artifacts/content$`), schemas.ArtifactRemovedSchema],
  ['POST', new RegExp(`^/v1/runs/${ID}/fork$`), schemas.RunCreatedSchema],
  ['POST', new RegExp(`^/v1/runs/${ID}/stop$`), schemas.RunStopSchema],
  ['POST', new RegExp(`^/v1/runs/${ID}/approval$`), schemas.RunApprovalResponseSchema],
  ['POST', new RegExp(`^/v1/runs/${ID}/steer$`), schemas.RunSteerSchema],
  ['POST', /^\/v1\/files$/, schemas.FileSchema],
  ['GET', /^\/v1\/files$/, schemas.FileListSchema],
  ['GET', new RegExp(`^/v1/files/${ID}$`), schemas.FileSchema],
  ['DELETE', new RegExp(`^/v1/files/${ID}$`), schemas.FileDeletedSchema],
  ['GET', /^\/v1\/slots$/, schemas.SlotListSchema],
  ['POST', /^\/v1\/slots$/, schemas.SlotSchema],
  ['POST', new RegExp(`^/v1/slots/${ID}/release$`), schemas.SlotReleasedSchema],
  ['GET', new RegExp(`^/v1/slots/${ID}/artifacts$`), schemas.SlotArtifactListSchema],
  ['GET', /^\/api\/sessions$/, schemas.SessionListSchema],
  ['POST', /^\/api\/sessions$/, schemas.SessionAnswerSchema],
  ['GET', new RegExp(`^/api/sessions/${ID}$`), schemas.SessionAnswerSchema],
  ['PATCH', new RegExp(`^/api/sessions/${ID}$`), schemas.SessionAnswerSchema],
  ['POST', new RegExp(`^/api/sessions/${ID}/chat$`), schemas.SessionChatCompletionSchema],
  ['DELETE', new RegExp(`^/api/sessions/${ID}$`), schemas.SessionDeletedSchema],
  ['GET', new RegExp(`^/api/sessions/${ID}/messages$`), schemas.SessionMessageListSchema],
  ['POST', new RegExp(`^/api/sessions/${ID}/fork$`), schemas.SessionAnswerSchema],
  ['GET', /^\/api\/jobs$/, schemas.JobListSchema],
  ['POST', /^\/api\/jobs$/, schemas.JobAnswerSchema],
  ['GET', new RegExp(`^/api/jobs/${ID}$`), schemas.JobAnswerSchema],
  ['PATCH', new RegExp(`^/api/jobs/${ID}$`), schemas.JobAnswerSchema],
  ['DELETE', new RegExp(`^/api/jobs/${ID}$`), schemas.JobDeletedSchema],
  ['POST', new RegExp(`^/api/jobs/${ID}/(pause|resume|run)$`), schemas.JobAnswerSchema],
];

/** Errors from before any route is reached have the envelope under `/api/jobs`, too. */
const AnyError = Type.Union([schemas.TextErrorSchema, schemas.ErrorSchema]);

export class CheckedApi extends Api {
  override async request<T = unknown>(
    method: string,
    path: string,
    options: Parameters<Api['request']>[2] = {},
  ): Promise<Answer<T>> {
    const answer = await super.request<T>(method, path, options);
    const bare = path.split('?', 1)[0] ?? '';
    const what = `${method} ${bare}`;
    expectSecurityHeaders(answer.headers, what);
    expectRequestId(answer.headers, undefined, what);
    if (answer.status >= 400 && method !== 'HEAD') {
      const schema = bare.startsWith('/api/jobs') ? AnyError : schemas.ErrorSchema;
      checkAnswer('errors', what, () => expectShape(schema, answer.body));
    }
    const found = ANSWERS.find(([verb, route]) => verb === method && route.test(bare));
    // A patch is text, at the route of a list.
    if (answer.status < 300 && found !== undefined && !/[?&]format=patch\b/.test(path)) {
      checkAnswer('shapes', what, () => expectShape(found[2], answer.body));
    }
    this.#noteRun(what, answer);
    return answer;
  }

  override async stream(runId: string, options: StreamOptions = {}): Promise<Streamed> {
    const streamed = await super.stream(runId, options);
    checkAnswer('events', 'GET events', () => {
      expectEventsInOrder(runId, streamed.frames, (options.after ?? -1) + 1);
      if (streamed.clean && streamed.comments.length > 0) {
        expect(streamed.comments.at(-1), 'the last comment of a stream that ended').toBe('stream closed');
      }
    });
    return streamed;
  }

  #noteRun(what: string, { status, body }: Answer<unknown>): void {
    const starts = /^POST \/v1\/runs(\/[^/]+\/fork)?$/.test(what);
    if (!starts || status !== 202) return;
    started.push({ api: this, runId: (body as { run_id: string }).run_id });
  }
}

type StartedRun = { api: Api; runId: string };
const started: StartedRun[] = [];

/**
 * Stops what the tests of a topic leave running, for servers that allow few runs at a time and keep those of failed
 * tests. What a topic's hooks have started serves all of its tests, so it is stopped at the end of the topic.
 */
export function stopLeftRuns(): void {
  const ofHooks: StartedRun[] = [];
  beforeEach(() => {
    ofHooks.push(...started.splice(0));
  });
  afterEach(() => stopRuns(started.splice(0)));
  afterAll(() => stopRuns([...ofHooks.splice(0), ...started.splice(0)]));
}

async function stopRuns(runs: readonly StartedRun[]): Promise<void> {
  const stopping = runs.map(({ api, runId }) =>
    fetch(`${api.baseUrl}/v1/runs/${runId}/stop`, {
      method: 'POST',
      headers: api.key === undefined ? {} : { authorization: `Bearer ${api.key}` },
    }).then((answer) => answer.text()),
  );
  await Promise.allSettled(stopping);
}

const validators = new Map<TSchema, Validator>();

export function expectShape(schema: TSchema, value: unknown): void {
  const validator = validators.get(schema) ?? Compile(schema);
  validators.set(schema, validator);
  if (validator.Check(value)) return;
  expect.fail(`${JSON.stringify(value)} does not fit its schema: ${JSON.stringify(validator.Errors(value))}`);
}

export function expectSecurityHeaders(headers: Headers, what = 'a stream'): void {
  checkAnswer('headers', what, () => {
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'");
  });
}

/** The one the client gave, or any. */
export function expectRequestId(headers: Headers, given?: string, what = 'a stream'): void {
  const id = headers.get('x-request-id');
  if (given !== undefined) expect(id).toBe(given);
  else
    checkAnswer('headers', what, () =>
      expect(id, 'every answer names its request').toMatch(/^[\x21-\x7e]+$/),
    );
}

function expectEventsInOrder(runId: string, frames: readonly Frame[], firstSeq = 0): void {
  for (const [i, { id, event }] of frames.entries()) {
    const { event: name, run_id, timestamp, seq, ...payload } = event;
    expect(Object.keys(schemas.EVENT_PAYLOADS)).toContain(name);
    expect(run_id).toBe(runId);
    expect(timestamp).toBeTypeOf('number');
    expect(seq, 'seq has no gaps').toBe(firstSeq + i);
    expect(id, 'the frame is numbered with the seq of its event').toBe(String(seq));
    expectShape(schemas.EVENT_PAYLOADS[name], payload);
    if (isTerminalEvent(name)) expect(i, 'a terminal event is the last').toBe(frames.length - 1);
  }
}

/** The exact error text of a route under `/api/jobs`. */
export function expectTextError(
  { status, body }: { status: number; body: unknown },
  expected: { status: number; message?: string },
): void {
  expect(status, JSON.stringify(body)).toBe(expected.status);
  expect(body).toEqual({ error: expected.message ?? expect.any(String) });
}

/**
 * The exact error. If another server has no envelope, every answer would report it: this test is only about the status.
 */
export function expectError(
  { status, body }: { status: number; body: unknown },
  expected: { status: number; code: string; message?: string | RegExp; param?: string | null },
): void {
  expect(status, JSON.stringify(body)).toBe(expected.status);
  if (!checkAnswer('errors', `a refusal with ${status}`, () => expectEnvelope(status, body))) return;
  const { error } = body as { error: Record<string, unknown> };
  expect(error.code, JSON.stringify(body)).toBe(expected.code);
  if (typeof expected.message === 'string') expect(error.message).toBe(expected.message);
  if (expected.message instanceof RegExp) expect(error.message).toMatch(expected.message);
  if (expected.param !== undefined) expect(error.param).toBe(expected.param);
}

function expectEnvelope(status: number, body: unknown): void {
  expectShape(schemas.ErrorSchema, body);
  const { error } = body as { error: Record<string, unknown> };
  expect(Object.keys(error).sort()).toEqual(['code', 'message', 'param', 'type']);
  const types: Record<number, string> = {
    429: 'rate_limit_error',
    500: 'server_error',
    503: 'server_error',
  };
  expect(error.type).toBe(types[status] ?? 'invalid_request_error');
}
