/**
 * A chat completion as a stream of chunks, then `[DONE]`. What happens beside the answer comes in named frames. Clients
 * of this dialect read those as chunks, too, so each is one: with the fields of a chunk, and no choice.
 *
 * The texts of two steps are parted by an empty line; the chunks hold all of them, where an answer in one piece has the
 * last alone.
 *
 * A stream cannot take back what it has said. A step that was cut off and is told anew (`run.resumed`) is left out as
 * long as that is known in time: from the log, for whoever comes after the fact, or from the same batch. Else the stream
 * ends with an error.
 */
import { type EventPayload, isTerminalEvent, TalariaError, toErrorBody } from '@talaria/protocol';
import type { EventBatch } from '../../journal/feeds.ts';
import type { StoredEvent } from '../../journal/journal.ts';
import { interruption } from '../inline/run-failure.ts';
import { dataFrame, namedFrame } from '../inline/sse-frames.ts';
import type { StreamFormat } from '../stream-format.ts';
import { toChatEnd } from './chat-end.ts';
import type { ChatHead } from './chat-head.ts';
import type { TakenBack } from './taken-back.ts';

const STEP_BREAK = '\n\n';

export class ChatChunks implements StreamFormat {
  readonly open: Buffer;
  readonly closed = Buffer.alloc(0);
  readonly #runId: string;
  readonly #head: ChatHead & { object: 'chat.completion.chunk' };
  readonly #takenBack: readonly TakenBack[];
  /** What the running tools do, by call. */
  readonly #labels = new Map<string, string>();
  /** The last event of a step's own that was shown. */
  #lastShownSeq = -1;
  #saidSomething = false;
  #stepIsOver = false;

  /** `takenBack` is what is known of it before the first event. */
  constructor(runId: string, head: ChatHead, takenBack: readonly TakenBack[] = []) {
    this.#runId = runId;
    this.#takenBack = takenBack;
    this.#head = { ...head, object: 'chat.completion.chunk' };
    this.open = Buffer.from(this.#chunk({ role: 'assistant', content: '' }));
  }

  encode(batch: EventBatch): { bytes: Buffer; ended: boolean } {
    const takenBack = [...this.#takenBack, ...takenBackIn(batch)];
    let text = '';
    let ended = false;
    for (const event of batch) {
      if (isTakenBack(event, takenBack)) continue;
      if (this.#repeats(event)) {
        text += this.#error(new TalariaError('internal_error', { message: 'The answer was begun anew' }));
        ended = true;
        break;
      }
      text += this.#frames(event);
      ended = isTerminalEvent(event.event);
    }
    return { bytes: Buffer.from(text), ended };
  }

  interrupted(reason: TalariaError): Buffer {
    return Buffer.from(this.#error(reason));
  }

  #frames(event: StoredEvent): string {
    if (isTerminalEvent(event.event)) return this.#end(event);
    const payload: unknown = JSON.parse(event.payload);
    switch (event.event) {
      case 'message.delta': {
        this.#lastShownSeq = event.seq;
        const { delta } = payload as EventPayload<'message.delta'>;
        const content = this.#stepIsOver && this.#saidSomething ? STEP_BREAK + delta : delta;
        this.#saidSomething = true;
        this.#stepIsOver = false;
        return this.#chunk({ content });
      }
      case 'reasoning.available':
        this.#lastShownSeq = event.seq;
        return this.#chunk({ reasoning_content: (payload as EventPayload<'reasoning.available'>).text });
      case 'tool.started': {
        this.#stepIsOver = true;
        const { tool, preview, tool_call_id } = payload as EventPayload<'tool.started'>;
        this.#labels.set(tool_call_id, preview);
        return this.#toolProgress(tool, preview, tool_call_id, 'running');
      }
      case 'tool.completed': {
        const { tool, tool_call_id } = payload as EventPayload<'tool.completed'>;
        const label = this.#labels.get(tool_call_id) ?? '';
        this.#labels.delete(tool_call_id);
        return this.#toolProgress(tool, label, tool_call_id, 'completed');
      }
      case 'approval.request': {
        const { choices: approval_choices, ...asked } = payload as EventPayload<'approval.request'>;
        return this.#named('hermes.approval.request', { run_id: this.#runId, ...asked, approval_choices });
      }
      case 'approval.responded':
        return this.#named('hermes.approval.responded', { run_id: this.#runId, ...(payload as object) });
      case 'run.steered':
        this.#stepIsOver = true;
        return '';
      default:
        return '';
    }
  }

  #end(event: StoredEvent): string {
    const end = toChatEnd(event);
    if ('failure' in end) return dataFrame(end.failure.body);
    return `${this.#chunk({}, end.finishReason, { usage: end.usage })}data: [DONE]\n\n`;
  }

  /** Whether what follows repeats something this stream has already said. */
  #repeats({ event, payload }: StoredEvent): boolean {
    if (event !== 'run.resumed') return false;
    const { discard_from_seq } = JSON.parse(payload) as EventPayload<'run.resumed'>;
    return discard_from_seq !== undefined && discard_from_seq <= this.#lastShownSeq;
  }

  #error(reason: TalariaError): string {
    return dataFrame(toErrorBody(interruption(reason, this.#runId)));
  }

  #toolProgress(tool: string, label: string, toolCallId: string, status: 'running' | 'completed'): string {
    return this.#named('hermes.tool.progress', { tool, label, toolCallId, status });
  }

  #named(name: string, data: object): string {
    return namedFrame(name, { ...this.#head, choices: [], ...data });
  }

  #chunk(delta: object, finish_reason: string | null = null, more: object = {}): string {
    return dataFrame({ ...this.#head, choices: [{ index: 0, delta, finish_reason }], ...more });
  }
}

export function takenBackIn(batch: EventBatch): TakenBack[] {
  return batch.flatMap(({ event, payload, seq }) => {
    if (event !== 'run.resumed') return [];
    const { discard_from_seq: from } = JSON.parse(payload) as EventPayload<'run.resumed'>;
    return from === undefined ? [] : [{ from, to: seq }];
  });
}

export function isTakenBack({ event, seq }: StoredEvent, takenBack: readonly TakenBack[]): boolean {
  const isStepsOwn = event === 'message.delta' || event === 'reasoning.available';
  return isStepsOwn && takenBack.some(({ from, to }) => from <= seq && seq < to);
}
