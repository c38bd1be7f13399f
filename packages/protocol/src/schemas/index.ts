/**
 * The wire shapes, each defined once. The types of this package are derived from these schemas, the server puts them
 * into its OpenAPI document, and the conformance suite checks real responses against them.
 *
 * Objects are open (unknown fields are allowed): additive fields are not a breaking change.
 *
 * The rest of the package imports only types from here, so that users of the types or the SSE codec do not load a
 * schema library.
 */
export * from './approvals.ts';
export * from './chat.ts';
export * from './completions.ts';
export * from './discovery.ts';
export * from './files.ts';
export * from './inventory.ts';
export * from './jobs.ts';
export * from './responses.ts';
export * from './runs.ts';
export * from './sessions.ts';
export * from './slots.ts';
export * from './webhooks.ts';
