export * from './errors.ts';
export * from './events.ts';
export * from './requests.ts';
export * from './run.ts';
export * from './sse.ts';
