/**
 * The OpenAPI document, made from the schemas of the protocol. It is loaded on the first request for it: nothing else
 * at run time needs the schemas, and loading them would be a good part of the start time.
 *
 * An operation is described in one of the tables beside this file, and served by the route with the same method and
 * path. The conformance suite checks that the document has every route.
 */
import * as schemas from '@talaria/protocol/schemas';
import Type, { type TSchema } from 'typebox';
import { ARTIFACT_OPERATIONS } from './artifact-operations.ts';
import { DISCOVERY_OPERATIONS } from './discovery-operations.ts';
import { FILE_OPERATIONS } from './file-operations.ts';
import { JOB_OPERATIONS } from './job-operations.ts';
import { OPENAI_OPERATIONS } from './openai-operations.ts';
import type { Operation } from './operation.ts';
import { RUN_OPERATIONS } from './run-operations.ts';
import { SESSION_OPERATIONS } from './session-operations.ts';
import { SLOT_OPERATIONS } from './slot-operations.ts';

const AnyObject = Type.Object({});
/** One event of a stream, read as the standard says: before OpenAPI 3.2 the schema of a stream is that of its events. */
const StreamedEvent = Type.Object({
  id: Type.Optional(Type.String()),
  event: Type.Optional(Type.String()),
  data: Type.String(),
});

/**
 * The errors of the routes under `/api/jobs`. Errors from before any route is reached have the usual envelope there,
 * too.
 */
const AnyError = Type.Union([schemas.TextErrorSchema, schemas.ErrorSchema]);

const PATH_PARAMETERS: Record<string, TSchema> = {
  run_id: Type.String({ pattern: '^run_[0-9a-f]{32}$' }),
  slot_id: Type.String({ pattern: '^slot_[0-9a-f]{32}$' }),
  session_id: Type.String({ description: 'The name of a session, percent-encoded' }),
  job_id: Type.String({ pattern: '^[0-9a-f]{12}$' }),
  response_id: Type.String({ pattern: '^resp_[0-9a-f]{28}$' }),
  conversation_id: Type.String({ description: 'conv_ and 32 hex digits, or the name of a session' }),
  file_id: Type.String({ pattern: '^file-[0-9a-f]{32}$' }),
  grant_id: Type.String({ pattern: '^grt_[0-9a-f]{32}$' }),
  tool_call_id: Type.String({ description: 'As the events of the run name it, percent-encoded' }),
  item_id: Type.String({ description: 'As the list of items names it' }),
  model: Type.String({ description: 'As /v1/models names it' }),
};

const BODILESS: ReadonlySet<string> = new Set(['204', '304']);

const ERRORS: Record<number, string> = {
  400: 'The request is not valid; or, where the answer is a run, the run failed or was stopped',
  401: 'The API key is missing or wrong',
  403: 'Not allowed on a server without a key',
  404: 'It does not exist, or is in a state that does not allow this',
  409: 'In conflict with an earlier request',
  412: 'The file is not the version that the request names',
  413: 'The body is too large',
  415: 'The body has an unknown encoding',
  416: 'The file has no bytes in that range',
  421: 'This process has no sandbox; another process has one',
  429: 'Too many are waiting; Retry-After, if present, says when to retry',
  502: 'The model provider failed',
  503: 'Not at the moment; see Retry-After',
};

const OPERATIONS: Record<string, Operation> = {
  ...DISCOVERY_OPERATIONS,
  ...RUN_OPERATIONS,
  ...ARTIFACT_OPERATIONS,
  ...OPENAI_OPERATIONS,
  ...FILE_OPERATIONS,
  ...SESSION_OPERATIONS,
  ...JOB_OPERATIONS,
  ...SLOT_OPERATIONS,
};

export function openApiDocument(version: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const [route, operation] of Object.entries(OPERATIONS)) {
    const [method = '', path = ''] = route.split(' ');
    paths[path] = { ...paths[path], [method.toLowerCase()]: describe(path, operation) };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Talaria', version, description: 'The Hermes Agent Runs API, as Talaria serves it' },
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        api_key: { type: 'apiKey', in: 'header', name: 'api-key' },
      },
    },
    security: [{ bearer: [] }, { api_key: [] }],
    paths,
    webhooks: {
      message: {
        post: {
          tags: ['runs'],
          summary: 'The end of a run, or an approval it waits for',
          security: [],
          parameters: parameters('', {
            headers: {
              'webhook-id': Type.String({ description: 'The same in every attempt' }),
              'webhook-timestamp': Type.Integer({ description: 'Seconds since the epoch, of this attempt' }),
              'webhook-signature': Type.String({ description: 'v1, and base64; only if there is a secret' }),
            },
          }),
          requestBody: { required: true, content: json(schemas.WebhookMessageSchema) },
          responses: { '2XX': { description: 'Taken' }, 410: { description: 'Not wanted any more' } },
        },
      },
    },
  };
}

function describe(path: string, operation: Operation): object {
  const { tag, summary, description, open, body, status = 200, answer = AnyObject } = operation;
  const {
    contentType = 'application/json',
    streams,
    also = {},
    errors = [],
    optionalBody = false,
  } = operation;
  const types = [...[contentType].flat(), ...(streams ? ['text/event-stream'] : [])];
  const schemaOf = (type: string): TSchema => {
    if (type === 'text/event-stream') return StreamedEvent;
    // If a route answers with JSON or with another type, the other type is plain bytes.
    return types.includes('application/json') && type !== 'application/json' ? Type.String() : answer;
  };
  const content = types.map((type) => [type, { schema: schemaOf(type) }]);
  const { bodyType = 'application/json' } = operation;
  return {
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    ...(open === true ? { security: [] } : {}),
    parameters: parameters(path, operation),
    ...(body === undefined
      ? {}
      : { requestBody: { required: !optionalBody, content: { [bodyType]: { schema: body } } } }),
    responses: {
      ...Object.fromEntries(
        Object.entries({ [status]: 'As asked', ...also }).map(([code, reason]) => [
          code,
          { description: reason, ...(BODILESS.has(code) ? {} : { content: Object.fromEntries(content) }) },
        ]),
      ),
      ...Object.fromEntries(
        errors.map((error) => [
          error,
          {
            description: ERRORS[error],
            content: json(path.startsWith('/api/jobs') ? AnyError : schemas.ErrorSchema),
          },
        ]),
      ),
    },
  };
}

function parameters(
  path: string,
  { headers = {}, query = {}, required = [] }: Pick<Operation, 'headers' | 'query' | 'required'>,
): object[] {
  const named = (where: string, entries: Record<string, TSchema>): object[] =>
    Object.entries(entries).map(([name, schema]) => ({
      name,
      in: where,
      required: where === 'path' || required.includes(name),
      // An empty `?limit=` counts as absent; see query.ts.
      ...(where === 'query' && !required.includes(name) ? { allowEmptyValue: true } : {}),
      schema,
    }));
  return [
    ...Object.entries(PATH_PARAMETERS).flatMap(([name, schema]) =>
      path.includes(`{${name}}`) ? named('path', { [name]: schema }) : [],
    ),
    ...named('header', headers),
    ...named('query', query),
  ];
}

function json(schema: TSchema): object {
  return { 'application/json': { schema } };
}
