/** A chat completion without streaming: a fold of the run's events, or of those between two waits for its client. */
import type { ChatCompletion, EventPayload } from '@talaria/protocol';
import type { StoredEvent } from '../../journal/journal.ts';
import type { RunFailure } from '../inline/run-failure.ts';
import { type ChatEnd, type ChatPlace, toChatEnd } from './chat-end.ts';
import type { ChatHead } from './chat-head.ts';

interface Shown {
  seq: number;
  text: string;
}

export class ChatAnswer {
  readonly #place: ChatPlace;
  /** The text of the present step: all there is of an answer that was cut off. */
  #shown: Shown[] = [];
  /** The text of the last step before its calls, when it has made one. */
  #beforeCalls: Shown[] | undefined;
  #reasoning: Shown[] = [];
  #end: ChatEnd | undefined;

  constructor(place: ChatPlace) {
    this.#place = place;
  }

  take(event: StoredEvent): void {
    switch (event.event) {
      case 'run.completed':
      case 'run.failed':
      case 'run.cancelled':
      case 'run.waiting':
        this.#end = toChatEnd(event, this.#place);
        break;
      case 'message.delta': {
        const { delta } = JSON.parse(event.payload) as EventPayload<'message.delta'>;
        this.#beforeCalls = undefined;
        this.#shown.push({ seq: event.seq, text: delta });
        break;
      }
      case 'reasoning.available': {
        const { text } = JSON.parse(event.payload) as EventPayload<'reasoning.available'>;
        this.#reasoning.push({ seq: event.seq, text });
        break;
      }
      case 'tool.started':
        this.#beforeCalls ??= this.#shown;
        this.#shown = [];
        break;
      case 'run.steered':
        this.#shown = [];
        break;
      case 'run.resumed': {
        const { discard_from_seq: from } = JSON.parse(event.payload) as EventPayload<'run.resumed'>;
        if (from === undefined) break;
        this.#shown = this.#shown.filter(({ seq }) => seq < from);
        this.#reasoning = this.#reasoning.filter(({ seq }) => seq < from);
        break;
      }
      case 'step.completed':
      case 'tool.completed':
      case 'approval.request':
      case 'approval.responded':
        break;
      default:
        event.event satisfies never;
    }
  }

  /** Call it when the run has ended or waits for its client. */
  result(head: ChatHead): { completion: ChatCompletion } | { failure: RunFailure } {
    const end = this.#end;
    if (end === undefined) throw new Error('The run has not ended');
    if ('failure' in end) return end;
    const { finishReason, usage, calls } = end;
    const reasoning = textOf(this.#reasoning, '\n\n');
    const content =
      calls === undefined ? (end.output ?? textOf(this.#shown)) : textOf(this.#beforeCalls ?? []) || null;
    const message = {
      role: 'assistant' as const,
      content,
      refusal: null,
      ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
      ...calls,
    };
    return {
      completion: {
        ...head,
        object: 'chat.completion',
        choices: [{ index: 0, message, logprobs: null, finish_reason: finishReason }],
        usage,
      },
    };
  }
}

function textOf(shown: readonly Shown[], between = ''): string {
  return shown.map(({ text }) => text).join(between);
}
