import type { Static } from 'typebox';
import type * as schemas from './schemas/chat.ts';

export type ChatMessage = Static<typeof schemas.ChatMessageSchema>;
export type ChatRequest = Static<typeof schemas.ChatRequestSchema>;
export type ChatToolCall = Static<typeof schemas.ChatToolCallSchema>;
export type ChatUsage = Static<typeof schemas.ChatUsageSchema>;
export type ChatCompletion = Static<typeof schemas.ChatCompletionSchema>;
export type ChatCompletionChunk = Static<typeof schemas.ChatCompletionChunkSchema>;
export type ToolProgress = Static<typeof schemas.ToolProgressSchema>;
export type ChatApprovalRequest = Static<typeof schemas.ChatApprovalRequestSchema>;
export type ChatApprovalResponded = Static<typeof schemas.ChatApprovalRespondedSchema>;
