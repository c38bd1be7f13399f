import type { Static } from 'typebox';
import type * as schemas from './schemas/responses.ts';

export type ResponseRequest = Static<typeof schemas.ResponseRequestSchema>;
export type ResponseStatus = Static<typeof schemas.ResponseStatusSchema>;
export type ResponseItem = Static<typeof schemas.ResponseItemSchema>;
export type ResponseUsage = Static<typeof schemas.ResponseUsageSchema>;
export type ResponseObject = Static<typeof schemas.ResponseObjectSchema>;
export type ResponseItemList = Static<typeof schemas.ResponseItemListSchema>;
export type ResponseInputTokens = Static<typeof schemas.ResponseInputTokensSchema>;
export type Conversation = Static<typeof schemas.ConversationSchema>;
export type ConversationDeleted = Static<typeof schemas.ConversationDeletedSchema>;
export type ResponseDeleted = Static<typeof schemas.ResponseDeletedSchema>;

type Payloads = typeof schemas.RESPONSE_EVENT_PAYLOADS;

export type ResponseEventType = keyof Payloads;

/** The payload of a stream event, without the fields that every event has. */
export type ResponseEventPayload<T extends ResponseEventType = ResponseEventType> = Static<Payloads[T]>;

/** An event as it appears in the `data:` line of the stream. */
export type ResponseEvent = {
  [T in ResponseEventType]: { type: T; sequence_number: number } & Static<Payloads[T]>;
}[ResponseEventType];

const RESPONSE_ID = /^resp_[0-9a-f]{28}$/;

export function isResponseId(value: string): boolean {
  return RESPONSE_ID.test(value);
}

/**
 * The id of a run's response is the beginning of the run's id, so that each can be computed from the other without a
 * lookup.
 */
export function toResponseId(runId: string): string {
  return `resp_${runId.slice('run_'.length, 'run_'.length + 28)}`;
}
