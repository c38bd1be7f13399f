/**
 * The conversation as the journal keeps it. It belongs to this project, not to a provider's SDK, so that a run written
 * by one version can be read by the next: a field may be added, none may change its meaning.
 */

export interface TextPart {
  type: 'text';
  text: string;
  metadata?: ProviderMetadata;
}

export interface ReasoningPart {
  type: 'reasoning';
  text: string;
  metadata?: ProviderMetadata;
}

export interface ToolCallPart {
  type: 'tool_call';
  id: string;
  tool: string;
  /** The arguments as the model wrote them: JSON text, not yet validated and possibly malformed. */
  arguments: string;
  metadata?: ProviderMetadata;
}

/** Data that a provider needs again on the next step (for example, a reasoning signature). Opaque to the loop. */
export type ProviderMetadata = Record<string, Record<string, unknown>>;

export type AssistantPart = TextPart | ReasoningPart | ToolCallPart;

export interface ImagePart {
  type: 'image';
  /** An http(s) or data URL. */
  url: string;
}

export type Message =
  | { role: 'system'; content: string }
  | { role: 'user'; content: string | (TextPart | ImagePart)[] }
  | { role: 'assistant'; content: AssistantPart[] }
  | { role: 'tool'; tool_call_id: string; tool: string; output: string; is_error: boolean };

/** How a step of the model ended. */
export type FinishReason = 'stop' | 'length' | 'content_filter' | 'tool_calls' | 'error' | 'other';

/**
 * The index at which the last `max` messages begin. Tool results whose calls would be left out are left out with them.
 */
export function recentFrom(messages: readonly Message[], max: number): number {
  let from = Math.max(0, messages.length - max);
  while (messages[from]?.role === 'tool') from += 1;
  return from;
}

/** The ids of the tool calls in these messages. */
export function callIds(messages: readonly Message[]): string[] {
  const parts = messages.flatMap((message) => (message.role === 'assistant' ? message.content : []));
  return parts.flatMap((part) => (part.type === 'tool_call' ? [part.id] : []));
}
