/** A chat completion in one piece: a fold of the run's events. */
import { type ChatCompletion, type EventPayload, isTerminalEvent } from '@talaria/protocol';
import type { StoredEvent } from '../../journal/journal.ts';
import type { RunFailure } from '../inline/run-failure.ts';
import { type ChatEnd, toChatEnd } from './chat-end.ts';
import type { ChatHead } from './chat-head.ts';

export class ChatAnswer {
  /** What the present step has shown: all there is of an answer that was cut short. */
  #shown: { seq: number; payload: string }[] = [];
  #end: ChatEnd | undefined;

  take(event: StoredEvent): void {
    if (isTerminalEvent(event.event)) {
      this.#end = toChatEnd(event);
      return;
    }
    switch (event.event) {
      case 'message.delta':
        this.#shown.push(event);
        break;
      case 'tool.started':
      case 'run.steered':
        this.#shown = [];
        break;
      case 'run.resumed': {
        const { discard_from_seq } = JSON.parse(event.payload) as EventPayload<'run.resumed'>;
        if (discard_from_seq !== undefined) {
          this.#shown = this.#shown.filter(({ seq }) => seq < discard_from_seq);
        }
      }
    }
  }

  /** Once the run has ended. */
  result(head: ChatHead): { completion: ChatCompletion } | { failure: RunFailure } {
    const end = this.#end;
    if (end === undefined) throw new Error('The run has not ended');
    if ('failure' in end) return end;
    const { output = this.#text(), finishReason, usage } = end;
    const message = { role: 'assistant' as const, content: output, refusal: null };
    return {
      completion: {
        ...head,
        object: 'chat.completion',
        choices: [{ index: 0, message, logprobs: null, finish_reason: finishReason }],
        usage,
      },
    };
  }

  #text(): string {
    return this.#shown
      .map(({ payload }) => (JSON.parse(payload) as EventPayload<'message.delta'>).delta)
      .join('');
  }
}
