export type * from './chat.ts';
export type * from './discovery.ts';
export * from './errors.ts';
export * from './events.ts';
export type * from './jobs.ts';
export * from './requests.ts';
export type * from './responses.ts';
export * from './run.ts';
export * from './sse.ts';
