/** The routes of OpenAI's protocol, except those of files, for the OpenAPI document. */
import * as schemas from '@talaria/protocol/schemas';
import Type from 'typebox';
import type { Operation } from './operation.ts';
import { MAX_SEQ } from './shared-parts.ts';

const ItemQuery = {
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
  order: Type.Union([Type.Literal('asc'), Type.Literal('desc')], { default: 'desc' }),
  after: Type.String({ description: 'The id of an item: only those after it' }),
};

export const OPENAI_OPERATIONS: Record<string, Operation> = {
  'POST /v1/chat/completions': {
    tag: 'openai',
    streams: true,
    summary: 'Answer a conversation',
    description:
      'The answer of a run, whose id is in the header X-Talaria-Run-Id. With `stream`, server-sent events: chunks of the ' +
      'answer, frames named hermes.tool.progress, hermes.approval.request and hermes.approval.responded, and [DONE]. ' +
      'A run that fails has the status of its failure.',
    headers: {
      'Idempotency-Key': Type.String({ minLength: 1, maxLength: 255 }),
      'X-Hermes-Session-Id': Type.String({ maxLength: 256, description: 'Continue this session' }),
      'X-Hermes-Session-Key': Type.String({ maxLength: 256, description: 'Echoed' }),
    },
    body: schemas.ChatRequestSchema,
    answer: schemas.ChatCompletionSchema,
    errors: [400, 401, 403, 409, 413, 429, 503],
  },
  'POST /v1/completions': {
    tag: 'openai',
    streams: true,
    summary: 'Answer a prompt',
    description:
      'The answer of a run, whose id is in the header X-Talaria-Run-Id. With `stream`, server-sent events of the same shape, ' +
      'and [DONE]. A run that fails has the status of its failure.',
    headers: {
      'Idempotency-Key': Type.String({ minLength: 1, maxLength: 255 }),
      'X-Hermes-Session-Id': Type.String({ maxLength: 256, description: 'Continue this session' }),
      'X-Hermes-Session-Key': Type.String({ maxLength: 256, description: 'Echoed' }),
    },
    body: schemas.CompletionRequestSchema,
    answer: schemas.CompletionSchema,
    errors: [400, 401, 403, 409, 413, 429, 503],
  },
  'POST /v1/embeddings': {
    tag: 'openai',
    summary: "Create embeddings with the model's provider",
    description: "Passed on to the provider with the server's key; 404 if the provider has no embeddings.",
    body: schemas.EmbeddingRequestSchema,
    answer: schemas.EmbeddingListSchema,
    errors: [400, 401, 404, 413, 429, 502],
  },
  'POST /v1/responses': {
    tag: 'openai',
    streams: true,
    summary: 'Create a response',
    description:
      'The answer of a run, whose id is in the header X-Talaria-Run-Id. With `stream`, server-sent events named as their ' +
      '`type`; with `background`, the response in its present state, to be fetched again later. A run that fails has the status of ' +
      'its failure. Calls that the server runs are `mcp_call` items; `function_call` asks the client to run one of its own ' +
      '`tools`, and the request that brings its `function_call_output` continues the run.',
    headers: {
      'Idempotency-Key': Type.String({ minLength: 1, maxLength: 255 }),
      'X-Hermes-Session-Id': Type.String({ maxLength: 256, description: 'Continue this session' }),
      'X-Hermes-Session-Key': Type.String({ maxLength: 256, description: 'Echoed' }),
      'X-Hermes-Tool-Items': Type.Union(
        [Type.Literal('mcp_call'), Type.Literal('function_call'), Type.Literal('none')],
        {
          description: 'How to show calls that the server runs',
        },
      ),
    },
    body: schemas.ResponseRequestSchema,
    answer: schemas.ResponseObjectSchema,
    errors: [400, 401, 403, 404, 409, 413, 429, 503],
  },
  'GET /v1/responses/{response_id}': {
    tag: 'openai',
    streams: true,
    summary: 'Get a response, or its events',
    query: {
      stream: Type.Boolean({ default: false, description: 'Server-sent events, as when it was created' }),
      starting_after: Type.Integer({
        minimum: 0,
        maximum: MAX_SEQ,
        description: 'Only the events after this sequence_number',
      }),
    },
    answer: schemas.ResponseObjectSchema,
    errors: [400, 401, 404],
  },
  'DELETE /v1/responses/{response_id}': {
    tag: 'openai',
    summary: 'Delete a finished response',
    answer: schemas.ResponseDeletedSchema,
    errors: [401, 404, 409],
  },
  'POST /v1/responses/{response_id}/cancel': {
    tag: 'openai',
    summary: 'Cancel a background response',
    answer: schemas.ResponseObjectSchema,
    errors: [400, 401, 404, 409],
  },
  'GET /v1/responses/{response_id}/input_items': {
    tag: 'openai',
    summary: 'List the input items of a response',
    query: ItemQuery,
    answer: schemas.ResponseItemListSchema,
    errors: [400, 401, 404],
  },
  'POST /v1/responses/input_tokens': {
    tag: 'openai',
    summary: 'Estimate the tokens of a request',
    description:
      "Counts the request and the messages that it continues, without the agent's own prompt and tools.",
    body: schemas.ResponseRequestSchema,
    answer: schemas.ResponseInputTokensSchema,
    errors: [400, 401, 403, 404, 409, 413],
  },
  'POST /v1/conversations': {
    tag: 'openai',
    summary: 'Create a conversation, which is a session',
    body: Type.Union([schemas.CreateConversationRequestSchema, Type.Null()]),
    optionalBody: true,
    answer: schemas.ConversationSchema,
    errors: [400, 401, 413],
  },
  'GET /v1/conversations/{conversation_id}': {
    tag: 'openai',
    summary: 'Get a conversation',
    answer: schemas.ConversationSchema,
    errors: [401, 404],
  },
  'POST /v1/conversations/{conversation_id}': {
    tag: 'openai',
    summary: 'Change the metadata of a conversation',
    body: schemas.UpdateConversationRequestSchema,
    answer: schemas.ConversationSchema,
    errors: [400, 401, 404],
  },
  'DELETE /v1/conversations/{conversation_id}': {
    tag: 'openai',
    summary: 'Delete a conversation and its session',
    answer: schemas.ConversationDeletedSchema,
    errors: [401, 404, 409],
  },
  'GET /v1/conversations/{conversation_id}/items': {
    tag: 'openai',
    summary: 'List the items of a conversation',
    query: ItemQuery,
    answer: schemas.ResponseItemListSchema,
    errors: [400, 401, 404],
  },
  'POST /v1/conversations/{conversation_id}/items': {
    tag: 'openai',
    summary: 'Add items to a conversation',
    body: schemas.ConversationItemsRequestSchema,
    answer: schemas.ResponseItemListSchema,
    errors: [400, 401, 404, 409, 413],
  },
  'GET /v1/conversations/{conversation_id}/items/{item_id}': {
    tag: 'openai',
    summary: 'Get an item of a conversation',
    answer: Type.Object({ id: Type.String(), type: Type.String() }),
    errors: [401, 404],
  },
  'DELETE /v1/conversations/{conversation_id}/items/{item_id}': {
    tag: 'openai',
    summary: 'Remove an item from a conversation',
    answer: schemas.ConversationSchema,
    errors: [401, 404, 409],
  },
};
