/**
 * The contract between the agent loop and a language model: one call, one step.
 *
 * - `streamStep` yields the model's output as it arrives, and ends with exactly one `finish` part, which repeats
 *   the whole answer. A driver never runs tools and never retries: the loop does both.
 * - The id of a tool call is not empty and unique in the conversation, whatever the provider sends.
 * - Aborting `signal` ends the request to the provider and makes the iteration throw.
 * - Every failure is a `ModelError`; its message is safe to show (no key, no header, no request body).
 */
import type { ModelSettingName, ModelSettings, OutputForm, Usage } from '@talaria/protocol';
import type { AssistantPart, FinishReason, Message } from '../../journal/messages.ts';

export interface ToolDefinition {
  name: string;
  description: string;
  /** A JSON schema of type object. */
  parameters: Record<string, unknown>;
  /** Calls must follow the schema while the model writes them, where the provider can enforce that. */
  strict?: true;
}

export interface StepRequest {
  messages: readonly Message[];
  tools: readonly ToolDefinition[];
  /** Requires the step to call a tool, or this tool. By default the model decides. */
  toolChoice?: 'required' | { name: string };
  /** False asks for one call at a time; some models ignore it. */
  parallelToolCalls?: boolean;
  settings?: ModelSettings;
  /** The format of the final answer, for a provider that can enforce it without disabling tools. */
  outputForm?: OutputForm;
  /** Ids that no new call may have, in addition to those in `messages`: ids of calls that were left out there. */
  usedCallIds?: Iterable<string>;
  signal: AbortSignal;
}

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
  /** Settings that it never passes on to its provider, so that no response claims they were used. */
  readonly ignoredSettings?: readonly ModelSettingName[];
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
  /** How long the provider asked to wait before a retry. */
  readonly retryAfterMs: number | undefined;
  /** The URL that was called does not seem to be that of an API; the operator has to look at it. */
  readonly isWrongUrl: boolean;

  constructor(
    code: ModelErrorCode,
    message: string,
    options: {
      retryable: boolean;
      retryAfterMs?: number | undefined;
      isWrongUrl?: boolean | undefined;
      cause?: unknown;
    },
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.retryable = options.retryable;
    this.retryAfterMs = options.retryAfterMs;
    this.isWrongUrl = options.isWrongUrl ?? false;
  }
}
