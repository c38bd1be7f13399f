import type { Static } from 'typebox';
import type * as schemas from './schemas/sessions.ts';

export type Session = Static<typeof schemas.SessionSchema>;
export type SessionList = Static<typeof schemas.SessionListSchema>;
export type SessionMessage = Static<typeof schemas.SessionMessageSchema>;
export type SessionMessageList = Static<typeof schemas.SessionMessageListSchema>;
export type SessionDeleted = Static<typeof schemas.SessionDeletedSchema>;
export type ForkedSession = Static<typeof schemas.ForkedSessionSchema>;
export type SessionAnswer = Static<typeof schemas.SessionAnswerSchema>;
export type CreateSessionRequest = Static<typeof schemas.CreateSessionRequestSchema>;
export type UpdateSessionRequest = Static<typeof schemas.UpdateSessionRequestSchema>;
export type SessionChatRequest = Static<typeof schemas.SessionChatRequestSchema>;
export type SessionChatCompletion = Static<typeof schemas.SessionChatCompletionSchema>;
export type SessionChatEvent = Static<typeof schemas.SessionChatEventSchema>;
export type ForkSessionRequest = Static<typeof schemas.ForkSessionRequestSchema>;
