/**
 * A field whose text is sent as messages. Sending empties the field at once: what a person types meanwhile is the next
 * message. Messages are sent one after another, in their order. If one cannot be sent, its text returns to the field,
 * followed by the messages after it and by what was typed since.
 */
import { type ReadonlySignal, type Signal, useSignal } from '@preact/signals';
import type { Talaria } from '@talaria/client';
import { useRef } from 'preact/hooks';
import { client, noteFailure } from '../api/session.ts';

export type Send = (client: Talaria, input: string) => Promise<unknown>;

export interface Outbox {
  /** What is in the field. */
  text: Signal<string>;
  sending: ReadonlySignal<boolean>;
  /** How many messages were sent. */
  sent: ReadonlySignal<number>;
  error: ReadonlySignal<unknown>;
  send(how: Send): void;
}

export function useOutbox(): Outbox {
  const text = useSignal('');
  const sending = useSignal(false);
  const sent = useSignal(0);
  const error = useSignal<unknown>(undefined);
  const waiting = useRef<{ input: string; how: Send }[]>([]).current;

  const deliver = async () => {
    sending.value = true;
    error.value = undefined;
    try {
      for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
        await next.how(client.peek(), next.input);
        waiting.shift();
        sent.value++;
      }
    } catch (failure) {
      noteFailure(failure);
      error.value = failure;
      const unsent = waiting.splice(0).map(({ input }) => input);
      text.value = [...unsent, text.value].filter((each) => each.trim() !== '').join('\n\n');
    }
    sending.value = false;
  };
  const send = (how: Send) => {
    const input = text.value.trim();
    if (input === '') return;
    text.value = '';
    waiting.push({ input, how });
    if (!sending.value) void deliver();
  };
  return { text, sending, sent, error, send };
}
