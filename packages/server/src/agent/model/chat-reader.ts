/**
 * Reads the stream of a chat completion: text in, parts of the provider layer out. No I/O.
 *
 * Servers that call themselves compatible differ, so it takes whatever can be understood and ignores the rest:
 * - Content is a string, or a list of parts with text and thinking. Reasoning has two names.
 * - A tool call comes in pieces that may lack an index, an id or a name. The provider layer's tracker puts them together.
 * - A chunk with an error ends the step; so does one that is not JSON, or has no choices.
 *
 * Text that arrives together becomes one part: a fast model sends hundreds of chunks in one packet.
 */
import type {
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider';
import { createSseParser } from '@talaria/protocol';
import { incompleteStreamError, unreadableAnswerError } from './model-errors.ts';

/** One piece of a tool call. */
export interface CallPiece {
  index?: number | null;
  id?: string | null;
  function?: { name?: string | null; arguments?: string | null } | null;
  extra_content?: { google?: { thought_signature?: string | null } | null } | null;
}

interface CallTracker {
  processDelta(piece: CallPiece): void;
  flush(): void;
}

export type CreateCallTracker = (
  enqueue: (part: LanguageModelV4StreamPart) => void,
  extractMetadata: (piece: CallPiece) => SharedV4ProviderMetadata | undefined,
) => CallTracker;

interface Delta {
  content?: unknown;
  reasoning_content?: unknown;
  reasoning?: unknown;
  refusal?: unknown;
  tool_calls?: CallPiece[] | null;
}

interface Chunk {
  choices?: { delta?: Delta | null; finish_reason?: string | null }[];
  usage?: ChatUsage | null;
  error?: unknown;
}

interface ChatUsage {
  prompt_tokens?: number | null;
  completion_tokens?: number | null;
  prompt_tokens_details?: { cached_tokens?: number | null } | null;
  completion_tokens_details?: { reasoning_tokens?: number | null } | null;
}

type BlockKind = 'text' | 'reasoning';

export class ChatReader {
  readonly #calls: CallTracker;
  readonly #nameless = new NamelessCalls();
  readonly #parser = createSseParser({ onMessage: ({ data }) => this.#take(data) });
  #parts: LanguageModelV4StreamPart[] = [];
  /** The block that is open, and what has arrived of it since the last group. */
  #open: BlockKind | undefined;
  #arrived = '';
  #finishReason: string | undefined;
  #refused = false;
  #failed = false;
  #usage: ChatUsage | undefined;

  /** @param metadataKey where the metadata of a call belongs */
  constructor(metadataKey: string, createTracker: CreateCallTracker) {
    this.#calls = createTracker(
      (part) => this.#parts.push(part),
      ({ extra_content }) => {
        const thoughtSignature = extra_content?.google?.thought_signature;
        return thoughtSignature ? { [metadataKey]: { thoughtSignature } } : undefined;
      },
    );
  }

  /** The parts that this piece of the stream completes. */
  read(text: string): LanguageModelV4StreamPart[] {
    this.#parser.feed(text);
    this.#flushText();
    return this.#takeParts();
  }

  /** The parts that the end of the stream completes, with the finish. Throws if the model was not done. */
  end(): LanguageModelV4StreamPart[] {
    if (this.#finishReason === undefined) throw incompleteStreamError();
    this.#close();
    for (const piece of this.#nameless.rest()) this.#calls.processDelta(piece);
    this.#calls.flush();
    const parts = this.#takeParts();
    const finishReason = toFinishReason(this.#finishReason, this.#refused);
    return [...parts, { type: 'finish', finishReason, usage: toUsage(this.#usage) }];
  }

  #takeParts(): LanguageModelV4StreamPart[] {
    const parts = this.#parts;
    this.#parts = [];
    return parts;
  }

  #take(data: string): void {
    if (this.#failed || data === '[DONE]') return;
    const chunk = parse(data);
    const problem = problemOf(chunk);
    if (problem !== undefined) {
      // Text before it may have arrived in the same piece, and is shown.
      this.#flushText();
      this.#parts.push({ type: 'error', error: problem });
      this.#failed = true;
      return;
    }
    if (chunk?.usage) this.#usage = chunk.usage;
    const choice = chunk?.choices?.[0];
    if (choice?.finish_reason) this.#finishReason = choice.finish_reason;
    if (choice?.delta) this.#takeDelta(choice.delta);
  }

  #takeDelta({ reasoning_content, reasoning = '', content, refusal, tool_calls }: Delta): void {
    this.#add('reasoning', reasoning_content ?? reasoning);
    if (Array.isArray(content)) for (const part of content) this.#takeContentPart(part);
    else this.#add('text', content);
    if (typeof refusal === 'string' && refusal !== '') {
      this.#refused = true;
      this.#add('text', refusal);
    }
    if (!Array.isArray(tool_calls) || tool_calls.length === 0) return;
    // A thought is complete when the model acts. Text may continue after a call.
    if (this.#open === 'reasoning') this.#close();
    else this.#flushText();
    for (const piece of tool_calls) {
      const complete = this.#nameless.add(piece);
      if (complete !== undefined) this.#calls.processDelta(complete);
    }
  }

  #takeContentPart(part: { type?: unknown; text?: unknown; thinking?: unknown } | null): void {
    if (part?.type === 'text') this.#add('text', part.text);
    if (part?.type !== 'thinking' || !Array.isArray(part.thinking)) return;
    for (const thought of part.thinking) if (thought?.type === 'text') this.#add('reasoning', thought.text);
  }

  #add(kind: BlockKind, text: unknown): void {
    if (typeof text !== 'string' || text === '') return;
    if (this.#open !== kind) {
      this.#close();
      this.#parts.push({ type: `${kind}-start`, id: kind });
      this.#open = kind;
    }
    this.#arrived += text;
  }

  #flushText(): void {
    if (this.#open === undefined || this.#arrived === '') return;
    this.#parts.push({ type: `${this.#open}-delta`, id: this.#open, delta: this.#arrived });
    this.#arrived = '';
  }

  #close(): void {
    this.#flushText();
    if (this.#open !== undefined) this.#parts.push({ type: `${this.#open}-end`, id: this.#open });
    this.#open = undefined;
  }
}

/** Some servers send the arguments of a call before its name. The tracker needs the name first. */
class NamelessCalls {
  readonly #waiting = new Map<number, CallPiece>();
  readonly #named = new Set<number>();

  /** The piece, together with what has waited for it; undefined if it has to wait. */
  add(piece: CallPiece): CallPiece | undefined {
    const { index } = piece;
    if (index === undefined || index === null || this.#named.has(index)) return piece;
    const joined = join(this.#waiting.get(index), piece);
    if (joined.function?.name) {
      this.#waiting.delete(index);
      this.#named.add(index);
      return joined;
    }
    this.#waiting.set(index, joined);
    return undefined;
  }

  /** Calls that never got a name. */
  rest(): Iterable<CallPiece> {
    return this.#waiting.values();
  }
}

function join(
  before: CallPiece | undefined,
  { index, id, function: called, extra_content }: CallPiece,
): CallPiece {
  const text = (before?.function?.arguments ?? '') + (called?.arguments ?? '');
  return {
    index: index ?? null,
    id: before?.id ?? id ?? null,
    function: { name: called?.name ?? null, arguments: text },
    extra_content: before?.extra_content ?? extra_content ?? null,
  };
}

function parse(data: string): Chunk | null | undefined {
  try {
    return JSON.parse(data) as Chunk | null;
  } catch {
    return undefined;
  }
}

/** An error is the whole chunk, because some servers put a status beside the message; `toModelError` reads it. */
function problemOf(chunk: Chunk | null | undefined): unknown {
  if (chunk?.error) return chunk;
  return Array.isArray(chunk?.choices) ? undefined : unreadableAnswerError();
}

function toFinishReason(raw: string, refused: boolean): LanguageModelV4FinishReason {
  switch (raw) {
    case 'stop':
      return { unified: refused ? 'content-filter' : 'stop', raw };
    case 'length':
      return { unified: 'length', raw };
    case 'content_filter':
      return { unified: 'content-filter', raw };
    case 'function_call':
    case 'tool_calls':
      return { unified: 'tool-calls', raw };
    default:
      return { unified: 'other', raw };
  }
}

function toUsage(usage: ChatUsage | undefined): LanguageModelV4Usage {
  const input = usage?.prompt_tokens ?? undefined;
  const output = usage?.completion_tokens ?? undefined;
  const cacheRead = usage?.prompt_tokens_details?.cached_tokens ?? undefined;
  const reasoning = usage?.completion_tokens_details?.reasoning_tokens ?? undefined;
  return {
    inputTokens: { total: input, noCache: undefined, cacheRead, cacheWrite: undefined },
    outputTokens: { total: output, text: undefined, reasoning },
    ...(usage === undefined ? {} : { raw: { ...usage } }),
  };
}
