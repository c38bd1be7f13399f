/**
 * A text completion as a stream: `text_completion` objects, then `[DONE]`. It shows only the agent's text, because this
 * dialect has no place for more. A failure is a last object with the finish reason `error`, so that a client that only
 * looks for text does not take it for an answer. Text that is repeated after a restart is handled as in chat-chunks.ts.
 */
import {
  type Completion,
  type ErrorBody,
  type EventPayload,
  isTerminalEvent,
  NO_USAGE,
  TalariaError,
  toErrorBody,
} from '@talaria/protocol';
import type { EventBatch } from '../../journal/feeds.ts';
import type { StoredEvent } from '../../journal/journal.ts';
import { isTakenBack, takenBackIn } from '../chat/chat-chunks.ts';
import { toChatEnd } from '../chat/chat-end.ts';
import type { ChatHead } from '../chat/chat-head.ts';
import type { TakenBack } from '../chat/taken-back.ts';
import { interruption } from '../inline/run-failure.ts';
import { dataFrame } from '../streams/sse-frames.ts';
import type { StreamFormat } from '../streams/stream-format.ts';

const STEP_BREAK = '\n\n';
const DONE = 'data: [DONE]\n\n';

export interface CompletionChunksOptions {
  runId: string;
  head: ChatHead;
  /** The beginning of the text: the prompt, if the client wants it back. */
  opening: string;
  takenBack: readonly TakenBack[];
}

export class CompletionChunks implements StreamFormat {
  readonly open: Buffer;
  readonly closed = Buffer.alloc(0);
  readonly #options: CompletionChunksOptions;
  #lastShownSeq = -1;
  #saidSomething = false;
  #stepIsOver = false;

  constructor(options: CompletionChunksOptions) {
    this.#options = options;
    this.open = Buffer.from(this.#chunk(options.opening));
  }

  encode(batch: EventBatch): { bytes: Buffer; ended: boolean } {
    const takenBack = [...this.#options.takenBack, ...takenBackIn(batch)];
    let text = '';
    for (const event of batch) {
      if (isTakenBack(event, takenBack)) continue;
      if (this.#repeats(event)) {
        const reason = new TalariaError('internal_error', { message: 'The answer was started again' });
        return { bytes: Buffer.concat([Buffer.from(text), this.interrupted(reason)]), ended: true };
      }
      text += this.#frames(event);
    }
    return { bytes: Buffer.from(text), ended: isTerminalEvent(batch.at(-1)!.event) };
  }

  interrupted(reason: TalariaError): Buffer {
    return Buffer.from(this.#failure(toErrorBody(interruption(reason, this.#options.runId))));
  }

  #frames(event: StoredEvent): string {
    switch (event.event) {
      case 'message.delta': {
        const { delta } = JSON.parse(event.payload) as EventPayload<'message.delta'>;
        const text = this.#stepIsOver && this.#saidSomething ? STEP_BREAK + delta : delta;
        this.#lastShownSeq = event.seq;
        this.#saidSomething = true;
        this.#stepIsOver = false;
        return this.#chunk(text);
      }
      case 'tool.started':
      case 'run.steered':
        this.#stepIsOver = true;
        return '';
      case 'run.completed':
      case 'run.failed':
      case 'run.cancelled': {
        const end = toChatEnd(event, { runId: this.#options.runId, usageBefore: NO_USAGE });
        if ('failure' in end) return this.#failure(end.failure.body);
        return this.#chunk('', end.finishReason, { usage: end.usage }) + DONE;
      }
      case 'reasoning.available':
      case 'step.completed':
      case 'tool.completed':
      case 'approval.request':
      case 'approval.responded':
      case 'run.waiting':
      case 'run.resumed':
        return '';
      default:
        event.event satisfies never;
        return '';
    }
  }

  #repeats({ event, payload }: StoredEvent): boolean {
    if (event !== 'run.resumed') return false;
    const { discard_from_seq } = JSON.parse(payload) as EventPayload<'run.resumed'>;
    return discard_from_seq !== undefined && discard_from_seq <= this.#lastShownSeq;
  }

  /** The error comes first, as in chat-chunks.ts. */
  #failure({ error }: ErrorBody): string {
    return dataFrame({ error, ...this.#toChunk('', 'error') }) + DONE;
  }

  #chunk(text: string, finish_reason: string | null = null, more: object = {}): string {
    return dataFrame({ ...this.#toChunk(text, finish_reason), ...more });
  }

  #toChunk(text: string, finish_reason: string | null): Completion {
    return {
      ...this.#options.head,
      object: 'text_completion',
      choices: [{ text, index: 0, logprobs: null, finish_reason }],
    };
  }
}
