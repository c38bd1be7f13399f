/** The routes of discovery and health, for the OpenAPI document. */
import * as schemas from '@talaria/protocol/schemas';
import Type from 'typebox';
import type { Operation } from './operation.ts';

export const DISCOVERY_OPERATIONS: Record<string, Operation> = {
  'GET /health': { tag: 'health', summary: 'Is it up?', open: true, answer: schemas.HealthSchema },
  'GET /v1/health': { tag: 'health', summary: 'Is it up?', open: true, answer: schemas.HealthSchema },
  'GET /health/ready': {
    tag: 'health',
    summary: 'Should requests be sent here? 503 while it shuts down',
    open: true,
    answer: schemas.HealthReadySchema,
  },
  'GET /health/detailed': {
    tag: 'health',
    summary: 'The state of the server and its parts',
    answer: schemas.HealthDetailedSchema,
    errors: [401],
  },
  'GET /metrics': {
    tag: 'health',
    summary: 'Metrics in the text format of Prometheus',
    answer: Type.String(),
    contentType: 'text/plain',
    errors: [401],
  },
  'GET /openapi.json': { tag: 'discovery', summary: 'This document', errors: [401] },
  'GET /v1/models': {
    tag: 'discovery',
    summary: 'The model this server offers',
    answer: schemas.ModelListSchema,
    errors: [401],
  },
  'GET /v1/models/{model}': {
    tag: 'discovery',
    summary: 'The model of this name',
    answer: schemas.ModelSchema,
    errors: [401, 404],
  },
  'GET /v1/capabilities': {
    tag: 'discovery',
    summary: 'What this server can do',
    answer: schemas.CapabilitiesSchema,
    errors: [401],
  },
  'GET /v1/skills': {
    tag: 'discovery',
    summary: 'The skills of the agent: it has none',
    answer: schemas.SkillListSchema,
    errors: [401],
  },
  'GET /v1/toolsets': {
    tag: 'discovery',
    summary: 'The tools of the agent, in sets',
    answer: schemas.ToolsetListSchema,
    errors: [401],
  },
  'GET /v1/directories': {
    tag: 'discovery',
    summary: 'The directories of the server that runs of the key may use',
    answer: schemas.DirectoryListSchema,
    errors: [401],
  },
  'GET /api/model/options': {
    tag: 'discovery',
    summary: 'The models that a request may name',
    query: { refresh: Type.Unknown({ description: 'Ignored: the response is always up to date' }) },
    answer: schemas.ModelOptionsSchema,
    errors: [401],
  },
};
