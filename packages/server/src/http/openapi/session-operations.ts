/** The routes of sessions, for the OpenAPI document. */
import * as schemas from '@talaria/protocol/schemas';
import Type from 'typebox';
import type { Operation } from './operation.ts';
import { After, Limit } from './shared-parts.ts';

const Offset = Type.Integer({ minimum: 0, maximum: 1_000_000, default: 0 });

export const SESSION_OPERATIONS: Record<string, Operation> = {
  'GET /api/sessions': {
    tag: 'sessions',
    summary: 'List sessions, most recently used first',
    query: {
      limit: Limit,
      after: After,
      offset: Offset,
      source: Type.String(),
      title: Type.String({ description: 'Only the session with exactly this title' }),
      include_hidden: Type.Boolean({ default: false, description: 'With a title: include hidden sessions' }),
    },
    answer: schemas.SessionListSchema,
    errors: [400, 401],
  },
  'POST /api/sessions': {
    tag: 'sessions',
    summary: 'Create a session',
    body: schemas.CreateSessionRequestSchema,
    optionalBody: true,
    status: 201,
    answer: schemas.SessionAnswerSchema,
    errors: [400, 401, 409, 413],
  },
  'GET /api/sessions/{session_id}': {
    tag: 'sessions',
    summary: 'Get a session',
    answer: schemas.SessionAnswerSchema,
    errors: [401, 404],
  },
  'PATCH /api/sessions/{session_id}': {
    tag: 'sessions',
    summary: 'Change the fields of a session',
    body: schemas.UpdateSessionRequestSchema,
    answer: schemas.SessionAnswerSchema,
    errors: [400, 401, 404, 413],
  },
  'DELETE /api/sessions/{session_id}': {
    tag: 'sessions',
    summary: 'Delete a session with its transcript',
    answer: schemas.SessionDeletedSchema,
    errors: [401, 404, 409],
  },
  'GET /api/sessions/{session_id}/messages': {
    tag: 'sessions',
    summary: 'Read the transcript of a session',
    query: {
      limit: Type.Integer({ minimum: 1, maximum: 500, default: 500 }),
      after: Type.Integer({ minimum: 0, description: 'The index of a message' }),
      order: Type.Union([Type.Literal('oldest'), Type.Literal('latest')], {
        description: 'From which end limit and offset count',
      }),
      offset: Offset,
    },
    answer: schemas.SessionMessageListSchema,
    errors: [400, 401, 404],
  },
  'POST /api/sessions/{session_id}/fork': {
    tag: 'sessions',
    summary: 'Create a session that starts with the messages of this one',
    body: schemas.ForkSessionRequestSchema,
    optionalBody: true,
    status: 201,
    answer: schemas.ForkedSessionSchema,
    errors: [400, 401, 404, 409],
  },
  'POST /api/sessions/{session_id}/chat': {
    tag: 'sessions',
    summary: 'Answer a message in a session',
    description:
      'The answer of a run, whose id is in it and in the header X-Talaria-Run-Id. A run that fails has the status of its ' +
      'failure.',
    headers: { 'Idempotency-Key': Type.String({ minLength: 1, maxLength: 255 }) },
    body: schemas.SessionChatRequestSchema,
    answer: schemas.SessionChatCompletionSchema,
    errors: [400, 401, 404, 409, 413, 429, 503],
  },
  'POST /api/sessions/{session_id}/chat/stream': {
    tag: 'sessions',
    summary: 'Answer a message in a session as a stream',
    description: 'Server-sent events, each with its name in the `event:` line; the last is done.',
    headers: { 'Idempotency-Key': Type.String({ minLength: 1, maxLength: 255 }) },
    body: schemas.SessionChatRequestSchema,
    answer: schemas.SessionChatEventSchema,
    contentType: 'text/event-stream',
    errors: [400, 401, 404, 409, 413, 429, 503],
  },
};
