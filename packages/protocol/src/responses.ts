import type { Static } from 'typebox';
import type * as schemas from './schemas/responses.ts';

export type ResponseRequest = Static<typeof schemas.ResponseRequestSchema>;
export type ResponseItem = Static<typeof schemas.ResponseItemSchema>;
export type ResponseObject = Static<typeof schemas.ResponseObjectSchema>;
export type ResponseDeleted = Static<typeof schemas.ResponseDeletedSchema>;

type Payloads = typeof schemas.RESPONSE_EVENT_PAYLOADS;

export type ResponseEvent = {
  [T in keyof Payloads]: { type: T; sequence_number: number } & Static<Payloads[T]>;
}[keyof Payloads];
