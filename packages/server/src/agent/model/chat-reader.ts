/**
 * Reads the stream of a chat completion: text in, parts of the provider layer out. No I/O.
 *
 * Servers that call themselves compatible differ:
 * - Content is a string, or a list of parts with text and thinking. Reasoning has two names.
 * - A tool call comes in pieces that may lack an index, an id or a name. The provider layer's tracker puts them together.
 * - Fields that are not known are ignored. A field that is known but has the wrong type makes the answer unreadable, and so
 *   does a chunk that is not JSON: an empty answer in its place would look like one of the model.
 * - A chunk with an error ends the step.
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
  function: { name?: string | null; arguments?: string | null };
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
  tool_calls?: unknown;
}

/** An object of JSON. Each field is checked where it is used. */
type Json = Record<string, unknown>;

/** A chunk that is longer than this is none: no model writes so much at once. */
const MAX_CHUNK_CHARS = 16 * 1024 * 1024;

type BlockKind = 'text' | 'reasoning';

export class ChatReader {
  readonly #calls: CallTracker;
  readonly #nameless = new NamelessCalls();
  readonly #parser = createSseParser({
    onMessage: ({ data }) => {
      this.#unparsedChars = 0;
      this.#take(data);
    },
  });
  #parts: LanguageModelV4StreamPart[] = [];
  /** The block that is open, and what has arrived of it since the last group. */
  #open: BlockKind | undefined;
  #arrived = '';
  #finishReason: string | undefined;
  /** Some servers send an empty reason with every chunk, and never another one. */
  #hasEmptyReason = false;
  #refused = false;
  #failed = false;
  #done = false;
  #usage: Json = {};
  #unparsedChars = 0;

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

  /** Whether the server has said that nothing follows. */
  get isDone(): boolean {
    return this.#done;
  }

  /** The parts that this piece of the stream completes. */
  read(text: string): LanguageModelV4StreamPart[] {
    this.#unparsedChars += text.length;
    this.#parser.feed(text);
    this.#flushText();
    if (this.#unparsedChars > MAX_CHUNK_CHARS) this.#fail(unreadableAnswerError());
    return this.#takeParts();
  }

  /** The parts that the end of the stream completes, with the finish. Throws if the model was not done. */
  end(): LanguageModelV4StreamPart[] {
    const reason = this.#finishReason ?? (this.#hasEmptyReason && this.#done ? '' : undefined);
    if (reason === undefined) throw incompleteStreamError();
    this.#close();
    for (const piece of this.#nameless.rest()) this.#calls.processDelta(piece);
    this.#calls.flush();
    const parts = this.#takeParts();
    const finishReason = toFinishReason(reason, this.#refused);
    return [...parts, { type: 'finish', finishReason, usage: toUsage(this.#usage) }];
  }

  #takeParts(): LanguageModelV4StreamPart[] {
    const parts = this.#parts;
    this.#parts = [];
    return parts;
  }

  #take(data: string): void {
    if (this.#failed || this.#done) return;
    if (data === '[DONE]') {
      this.#done = true;
      return;
    }
    try {
      this.#takeChunk(JSON.parse(data) as unknown);
    } catch (error) {
      this.#fail(error instanceof SyntaxError ? unreadableAnswerError() : error);
    }
  }

  /** Text before the problem may have arrived in the same piece, and is shown. */
  #fail(error: unknown): void {
    if (this.#failed) return;
    this.#failed = true;
    this.#flushText();
    this.#parts.push({ type: 'error', error });
  }

  #takeChunk(chunk: unknown): void {
    const { error, choices, usage } = expectObject(chunk);
    // The error is the whole chunk: some servers put a status beside the message. `toModelError` reads both.
    if (error) throw chunk;
    if (!Array.isArray(choices)) throw unreadableAnswerError();
    if (usage) this.#usage = expectObject(usage);
    if (choices.length === 0) return;
    const { finish_reason: reason, delta } = expectObject(choices[0]);
    if (reason === '') this.#hasEmptyReason = true;
    else if (typeof reason === 'string') this.#finishReason = reason;
    if (delta !== undefined && delta !== null) this.#takeDelta(expectObject(delta));
  }

  #takeDelta({ reasoning_content, reasoning, content, refusal, tool_calls }: Delta): void {
    this.#add('reasoning', expectText(reasoning_content ?? reasoning));
    if (Array.isArray(content)) for (const part of content) this.#takeContentPart(expectObject(part));
    else this.#add('text', expectText(content));
    if (typeof refusal === 'string' && refusal !== '') {
      this.#refused = true;
      this.#add('text', refusal);
    }
    const pieces = expectArray(tool_calls);
    if (pieces.length === 0) return;
    // A thought is complete when the model acts. Text may continue after a call.
    if (this.#open === 'reasoning') this.#close();
    else this.#flushText();
    for (const piece of pieces) {
      const complete = this.#nameless.add(toCallPiece(expectObject(piece)));
      if (complete !== undefined) this.#calls.processDelta(complete);
    }
  }

  #takeContentPart({ type, text, thinking }: Json): void {
    if (type === 'text') this.#add('text', expectText(text));
    if (type !== 'thinking') return;
    for (const thought of expectArray(thinking)) {
      const { type: kind, text: words } = expectObject(thought);
      if (kind === 'text') this.#add('reasoning', expectText(words));
    }
  }

  #add(kind: BlockKind, text: string): void {
    if (text === '') return;
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

function join(before: CallPiece | undefined, piece: CallPiece): CallPiece {
  const { name, arguments: text } = piece.function;
  return {
    index: piece.index ?? null,
    id: before?.id ?? piece.id ?? null,
    function: { name: name ?? null, arguments: (before?.function.arguments ?? '') + (text ?? '') },
    extra_content: before?.extra_content ?? piece.extra_content ?? null,
  };
}

/** Some servers send the arguments as an object, in one piece. */
function toCallPiece({ index, id, function: called, extra_content: extra }: Json): CallPiece {
  const { name, arguments: given } = expectObject(called ?? {});
  if (index !== undefined && index !== null && typeof index !== 'number') throw unreadableAnswerError();
  const text = isObject(given) ? JSON.stringify(given) : expectText(given);
  const google = isObject(extra) && isObject(extra.google) ? extra.google : {};
  const { thought_signature: signature } = google;
  return {
    index: index ?? null,
    id: expectText(id) || null,
    function: { name: expectText(name) || null, arguments: text },
    extra_content: typeof signature === 'string' ? { google: { thought_signature: signature } } : null,
  };
}

function expectObject(value: unknown): Json {
  if (!isObject(value)) throw unreadableAnswerError();
  return value;
}

/** Empty if there is none. */
function expectText(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw unreadableAnswerError();
  return value;
}

/** Empty if there is none. */
function expectArray(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw unreadableAnswerError();
  return value;
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
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

/** A count that is none is left out: a wrong count must not fail an answer that is there. */
function toUsage(usage: Json): LanguageModelV4Usage {
  const total = toCount(usage.total_tokens);
  const input = isObject(usage.prompt_tokens_details) ? usage.prompt_tokens_details : {};
  const output = isObject(usage.completion_tokens_details) ? usage.completion_tokens_details : {};
  return {
    inputTokens: {
      total: toCount(usage.prompt_tokens),
      noCache: undefined,
      cacheRead: toCount(input.cached_tokens),
      cacheWrite: undefined,
    },
    outputTokens: {
      total: toCount(usage.completion_tokens),
      text: undefined,
      reasoning: toCount(output.reasoning_tokens),
    },
    ...(total === undefined ? {} : { raw: { total_tokens: total } }),
  };
}

function toCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}
