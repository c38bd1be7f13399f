/**
 * The contract between the agent loop and a language model: one call, one step.
 *
 * - `streamStep` yields what the model says as it says it and ends with exactly one `finish` part, which
 *   carries the whole answer again. A driver never runs tools and never retries: both are the loop's.
 * - The id of a tool call is not empty and names one call of the conversation, whatever the provider sends.
 * - Aborting `signal` ends the request to the provider and makes the iteration throw.
 * - Every failure is a `ModelError`; its message is safe to show (no key, no header, no request body).
 * - `Message` is what the journal keeps. It belongs to this project, not to a provider's SDK, so that a run
 *   written by one version can be read by the next.
 */
import type { Usage } from '@talaria/protocol';

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

/** What a provider wants to see again on the next step (a reasoning signature, say). Opaque to the loop. */
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

export interface ToolDefinition {
  name: string;
  description: string;
  /** A JSON schema of type object. */
  parameters: Record<string, unknown>;
}

export interface StepRequest {
  messages: readonly Message[];
  tools: readonly ToolDefinition[];
  signal: AbortSignal;
}

export type FinishReason = 'stop' | 'length' | 'content_filter' | 'tool_calls' | 'error' | 'other';

export interface StepFinish {
  type: 'finish';
  content: AssistantPart[];
  usage: Usage;
  reason: FinishReason;
}

export type StepPart =
  | { type: 'text'; delta: string }
  /** Reasoning as it streams; it counts as progress but is shown only when its block is complete. */
  | { type: 'reasoning'; delta: string }
  | { type: 'reasoning_done'; text: string }
  /** The arguments of a tool call as they stream: progress, never shown. */
  | { type: 'tool_input'; delta: string }
  | StepFinish;

export interface Model {
  /** The name shown in `/health/detailed` and the logs: `provider/model`. */
  readonly name: string;
  streamStep(request: StepRequest): AsyncIterable<StepPart>;
}

export type ModelErrorCode =
  | 'provider_auth'
  | 'provider_rate_limit'
  | 'provider_unavailable'
  | 'provider_bad_request'
  | 'provider_error'
  | 'context_overflow'
  | 'content_filtered';

export class ModelError extends Error {
  override readonly name = 'ModelError';
  readonly code: ModelErrorCode;
  readonly retryable: boolean;
  /** How long the provider asked to wait before the next try. */
  readonly retryAfterMs: number | undefined;

  constructor(
    code: ModelErrorCode,
    message: string,
    options: { retryable: boolean; retryAfterMs?: number | undefined; cause?: unknown },
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.retryable = options.retryable;
    this.retryAfterMs = options.retryAfterMs;
  }
}
