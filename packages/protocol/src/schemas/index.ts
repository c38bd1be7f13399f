/**
 * The wire shapes, once. The types of this package are derived from these schemas, the server puts
 * them into its OpenAPI document, and the conformance suite checks real responses against them.
 *
 * Objects are open (unknown fields are allowed): additive fields are not a breaking change.
 *
 * Only types come from here into the rest of the package: who needs the types or the SSE codec does not load a
 * schema library.
 */
export * from './chat.ts';
export * from './completions.ts';
export * from './discovery.ts';
export * from './inventory.ts';
export * from './jobs.ts';
export * from './responses.ts';
export * from './runs.ts';
export * from './sessions.ts';
export * from './slots.ts';
export * from './webhooks.ts';
