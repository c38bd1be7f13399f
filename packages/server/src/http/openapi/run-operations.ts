/** The routes of runs, their events, approvals and grants, for the OpenAPI document. */
import { RUN_STATUSES } from '@talaria/protocol';
import * as schemas from '@talaria/protocol/schemas';
import Type from 'typebox';
import { SEARCH_CHARS_MAX } from '../../engine/run-lists.ts';
import type { Operation } from './operation.ts';
import { After, Limit, MAX_SEQ } from './shared-parts.ts';

const View = Type.Union([Type.Literal('full'), Type.Literal('head')], {
  description: '`head`: without the answer',
});
const Seq = Type.Integer({ minimum: 0, maximum: MAX_SEQ });
const EpochSeconds = Type.Number({
  minimum: 0,
  maximum: 99_999_999_999,
  description: 'Seconds since the epoch, fractional',
});

export const RUN_OPERATIONS: Record<string, Operation> = {
  'POST /v1/runs': {
    tag: 'runs',
    summary: 'Start a run',
    headers: { 'Idempotency-Key': Type.String({ minLength: 1, maxLength: 255 }), traceparent: Type.String() },
    body: schemas.CreateRunRequestSchema,
    status: 202,
    answer: schemas.RunCreatedSchema,
    errors: [400, 401, 409, 413, 429, 503],
  },
  'GET /v1/runs': {
    tag: 'runs',
    summary: 'List runs, newest first',
    query: {
      status: Type.String({
        pattern: `^(${RUN_STATUSES.join('|')})(,(${RUN_STATUSES.join('|')}))*$`,
        description: 'One status, or several separated by commas',
      }),
      session_id: Type.String(),
      job_id: Type.String({ description: 'Runs of this job' }),
      agent: Type.String({ description: 'Runs of this agent. No run has one yet, so nothing matches' }),
      parent_run_id: Type.String({
        description: 'Runs that this run has started. No run has a parent yet, so nothing matches',
      }),
      since: EpochSeconds,
      until: EpochSeconds,
      q: Type.String({
        maxLength: SEARCH_CHARS_MAX,
        description: 'Words that must all occur in the prompt (as far as `input` shows it) or in the answer',
      }),
      view: View,
      limit: Limit,
      after: After,
    },
    answer: schemas.RunListSchema,
    errors: [400, 401],
  },
  'GET /v1/runs/{run_id}': {
    tag: 'runs',
    summary: 'Get a run',
    description:
      'A run that is evicted is 404, except with `view=head`: then its head is shown as long as it is kept.',
    query: { view: View },
    answer: schemas.RunSchema,
    errors: [400, 401, 404],
  },
  'PATCH /v1/runs/{run_id}': {
    tag: 'runs',
    summary: 'Keep a run, or take that back',
    description:
      'A kept run, and its files, are not deleted. When that is taken back, a finished run goes at its usual time, but not before ' +
      'a day has passed (or its whole retention, if that is shorter).',
    body: schemas.UpdateRunRequestSchema,
    answer: schemas.RunSchema,
    errors: [400, 401, 404, 413],
  },
  'GET /v1/approvals': {
    tag: 'runs',
    summary: 'List questions to people, over all runs, newest first',
    description: 'Without a status: first those that wait for an answer, then the answered ones.',
    query: {
      status: Type.Union([Type.Literal('pending'), Type.Literal('answered')]),
      limit: Limit,
      after: After,
    },
    answer: schemas.ApprovalListSchema,
    errors: [400, 401],
  },
  'GET /v1/grants': {
    tag: 'runs',
    summary: 'List what answers allow beyond their own call, newest first',
    query: { limit: Limit, after: After },
    answer: schemas.GrantListSchema,
    errors: [400, 401],
  },
  'DELETE /v1/grants/{grant_id}': {
    tag: 'runs',
    summary: 'Take a grant back, at once',
    answer: schemas.GrantDeletedSchema,
    errors: [401, 404],
  },
  'GET /v1/runs/{run_id}/calls/{tool_call_id}': {
    tag: 'runs',
    summary: 'Get a tool call of a run, with its whole arguments and output',
    answer: schemas.RunCallSchema,
    errors: [401, 404],
  },
  'GET /v1/runs/{run_id}/events': {
    tag: 'runs',
    summary: 'Stream the events of a run',
    description:
      'Server-sent events: the whole run from its first event, then live ones, until the terminal event. ' +
      'With a cursor, everything after it, once and in order.',
    headers: {
      'Last-Event-ID': Type.String({
        pattern: '^[0-9]{0,15}$',
        description: 'An empty value counts as absent',
      }),
    },
    query: { last_event_id: Seq, last_seq: Seq },
    answer: Type.String(),
    contentType: 'text/event-stream',
    also: { 204: 'The run has ended, and nothing comes after the cursor' },
    errors: [400, 401, 404],
  },
  'GET /v1/feed': {
    tag: 'runs',
    summary: 'Stream the runs of the key as they change',
    description:
      'Server-sent events without an end; the schema is that of their data. Each has a run without its output, in its ' +
      'latest state. Without a cursor the feed begins now. With a cursor, it begins with every run that has changed since.',
    headers: { 'Last-Event-ID': Type.String({ description: 'An empty value counts as absent' }) },
    query: { after: Type.String({ description: 'The same as Last-Event-ID, which wins' }) },
    answer: schemas.RunChangedSchema,
    contentType: 'text/event-stream',
    errors: [400, 401],
  },
  'POST /v1/runs/{run_id}/fork': {
    tag: 'runs',
    summary: 'Start a run that continues from an event of this one',
    description:
      'The new run has the conversation as it was after that event, without a step whose calls were open. ' +
      'This run is not changed.',
    headers: { 'Idempotency-Key': Type.String({ minLength: 1, maxLength: 255 }), traceparent: Type.String() },
    body: schemas.ForkRunRequestSchema,
    optionalBody: true,
    status: 202,
    answer: schemas.RunCreatedSchema,
    errors: [400, 401, 404, 409, 413, 429, 503],
  },
  'POST /v1/runs/{run_id}/stop': {
    tag: 'runs',
    summary: 'Stop a run',
    description: 'The body is ignored. The run is cancelled within 5 s, whatever it was doing.',
    answer: schemas.RunStopSchema,
    errors: [401, 404],
  },
  'POST /v1/runs/{run_id}/approval': {
    tag: 'runs',
    summary: 'Answer the pending approval',
    body: schemas.ApprovalAnswerSchema,
    answer: schemas.RunApprovalResponseSchema,
    errors: [400, 401, 404, 409],
  },
  'POST /v1/runs/{run_id}/steer': {
    tag: 'runs',
    summary: 'Send text to a running run, for its next step',
    body: schemas.SteerRequestSchema,
    answer: schemas.RunSteerSchema,
    errors: [400, 401, 404, 409, 429],
  },
  'POST /v1/runs/{run_id}/tool_outputs': {
    tag: 'runs',
    summary: 'Send the outputs of client tool calls',
    description: 'Sending the same output again changes nothing.',
    body: schemas.ToolOutputsRequestSchema,
    answer: schemas.RunToolOutputsSchema,
    errors: [400, 401, 404, 409],
  },
};
