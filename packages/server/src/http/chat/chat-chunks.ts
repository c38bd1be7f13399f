/**
 * A chat completion as a stream of chunks, then `[DONE]`: of a whole run, or of a run between two waits for its client.
 * Everything beside the answer comes in separate frames. Clients of this dialect read those as chunks, so each frame is
 * a chunk whose choice adds nothing; inline/client-traits.ts decides who gets their event names.
 *
 * A blank line separates the texts of two steps. The chunks hold all texts; an answer without streaming has only the
 * last one.
 *
 * A stream cannot take text back. A step that was cut off and is repeated (`run.resumed`) is left out if that is known
 * in time: from the log, for a reader that comes later, or from the same batch. Otherwise the stream ends with an
 * error.
 */
import {
  type ChatApprovalRequest,
  type ChatApprovalResponded,
  type ErrorBody,
  type EventPayload,
  TalariaError,
  toErrorBody,
} from '@talaria/protocol';
import type { EventBatch } from '../../journal/feeds.ts';
import type { StoredEvent } from '../../journal/journal.ts';
import { approvalAnswerText, approvalText } from '../../responses/approval-text.ts';
import { toLastingError } from '../inline/client-traits.ts';
import { endsAnswer } from '../inline/inline-runs.ts';
import { interruption } from '../inline/run-failure.ts';
import { dataFrame, namedFrame } from '../streams/sse-frames.ts';
import type { StreamFormat } from '../streams/stream-format.ts';
import { type ChatCalls, type ChatPlace, toChatEnd } from './chat-end.ts';
import type { ChatHead } from './chat-head.ts';
import type { TakenBack } from './taken-back.ts';

const STEP_BREAK = '\n\n';
const DONE = 'data: [DONE]\n\n';

export interface ChatChunksOptions extends ChatPlace {
  head: ChatHead;
  /** Text that is known to be repeated, before the first event. */
  takenBack?: readonly TakenBack[];
  /** Whether frames beside the answer have an `event:` line. */
  namedFrames?: boolean;
  /** Whether a failure is also a frame of its own, before the chunk. */
  errorsAlone?: boolean;
  /** Whether approval requests are also shown as text. */
  tellsApprovals?: boolean;
}

export class ChatChunks implements StreamFormat {
  readonly open: Buffer;
  readonly closed = Buffer.alloc(0);
  readonly #options: ChatChunksOptions;
  readonly #head: ChatHead & { object: 'chat.completion.chunk' };
  /** The previews of the calls that run, by call id. */
  readonly #labels = new Map<string, string>();
  /** The last shown event that belongs to a step. */
  #lastShownSeq = -1;
  #saidSomething = false;
  #stepIsOver = false;

  constructor(options: ChatChunksOptions) {
    this.#options = options;
    this.#head = { ...options.head, object: 'chat.completion.chunk' };
    this.open = Buffer.from(this.#chunk({ role: 'assistant', content: '' }));
  }

  encode(batch: EventBatch): { bytes: Buffer; ended: boolean } {
    const takenBack = [...(this.#options.takenBack ?? []), ...takenBackIn(batch)];
    let text = '';
    for (const event of batch) {
      if (isTakenBack(event, takenBack)) continue;
      if (this.#repeats(event)) {
        text += this.#error(new TalariaError('internal_error', { message: 'The answer was started again' }));
        return { bytes: Buffer.from(text), ended: true };
      }
      text += this.#frames(event);
      if (endsAnswer(event.event)) return { bytes: Buffer.from(text), ended: true };
    }
    return { bytes: Buffer.from(text), ended: false };
  }

  interrupted(reason: TalariaError): Buffer {
    return Buffer.from(this.#error(reason));
  }

  #frames(event: StoredEvent): string {
    if (endsAnswer(event.event)) return this.#end(event);
    const payload: unknown = JSON.parse(event.payload);
    switch (event.event) {
      case 'message.delta':
        this.#lastShownSeq = event.seq;
        return this.#text((payload as EventPayload<'message.delta'>).delta);
      case 'reasoning.available':
        this.#lastShownSeq = event.seq;
        return this.#chunk({ reasoning_content: (payload as EventPayload<'reasoning.available'>).text });
      case 'tool.started': {
        this.#stepIsOver = true;
        const { tool, preview, tool_call_id, client } = payload as EventPayload<'tool.started'>;
        // The client hears of its own tools when it has to run them.
        if (client) return '';
        this.#labels.set(tool_call_id, preview);
        return this.#toolProgress(tool, preview, tool_call_id, 'running');
      }
      case 'tool.completed': {
        const { tool, tool_call_id } = payload as EventPayload<'tool.completed'>;
        const label = this.#labels.get(tool_call_id);
        this.#labels.delete(tool_call_id);
        return label === undefined ? '' : this.#toolProgress(tool, label, tool_call_id, 'completed');
      }
      case 'approval.request': {
        const asked = payload as EventPayload<'approval.request'>;
        const { choices: approval_choices, ...rest } = asked;
        const frame: ChatApprovalRequest = { run_id: this.#options.runId, ...rest, approval_choices };
        return (
          this.#beside('hermes.approval.request', frame) +
          this.#notice(() => approvalText(frame.run_id, asked))
        );
      }
      case 'approval.responded': {
        const answer = payload as EventPayload<'approval.responded'>;
        const frame: ChatApprovalResponded = { run_id: this.#options.runId, ...answer };
        return (
          this.#beside('hermes.approval.responded', frame) + this.#notice(() => approvalAnswerText(answer))
        );
      }
      case 'run.steered':
        this.#stepIsOver = true;
        return '';
      // `encode` asks `#repeats` about `run.resumed`.
      case 'step.completed':
      case 'run.resumed':
        return '';
      default:
        event.event satisfies never;
        return '';
    }
  }

  #end(event: StoredEvent): string {
    const end = toChatEnd(event, this.#options);
    if ('failure' in end) return this.#failure(end.failure.body);
    const asked = end.calls === undefined ? [] : toDeltas(end.calls).map((delta) => this.#chunk(delta));
    return `${asked.join('')}${this.#chunk({}, end.finishReason, { usage: end.usage })}${DONE}`;
  }

  #text(text: string): string {
    const content = this.#stepIsOver && this.#saidSomething ? STEP_BREAK + text : text;
    this.#saidSomething = true;
    this.#stepIsOver = false;
    return this.#chunk({ content });
  }

  #notice(text: () => string): string {
    return this.#options.tellsApprovals === true ? this.#text(text()) : '';
  }

  /** Whether the following events repeat something that this stream has already shown. */
  #repeats({ event, payload }: StoredEvent): boolean {
    if (event !== 'run.resumed') return false;
    const { discard_from_seq } = JSON.parse(payload) as EventPayload<'run.resumed'>;
    return discard_from_seq !== undefined && discard_from_seq <= this.#lastShownSeq;
  }

  #error(reason: TalariaError): string {
    return this.#failure(toErrorBody(interruption(reason, this.#options.runId)));
  }

  /**
   * With a finish reason: to some clients a stream that just ends looks like an empty success. The error comes first in
   * the frame, because go-openai recognizes it by the beginning of the line.
   */
  #failure({ error }: ErrorBody): string {
    const alone = this.#options.errorsAlone === true ? dataFrame({ error: toLastingError(error) }) : '';
    return alone + dataFrame({ error, ...this.#head, choices: [toChoice({}, 'error')] }) + DONE;
  }

  #toolProgress(tool: string, label: string, toolCallId: string, status: 'running' | 'completed'): string {
    return this.#beside('hermes.tool.progress', { tool, label, toolCallId, status });
  }

  #beside(name: string, data: object): string {
    const frame = { ...this.#head, ...NOTHING_ADDED, ...data };
    return this.#options.namedFrames === false ? dataFrame(frame) : namedFrame(name, frame);
  }

  #chunk(delta: object, finish_reason: string | null = null, more: object = {}): string {
    return dataFrame({ ...this.#head, choices: [toChoice(delta, finish_reason)], ...more });
  }
}

function toChoice(delta: object, finish_reason: string | null): object {
  return { index: 0, delta, finish_reason };
}

/**
 * As OpenAI does it: one call in each, and its name before its arguments. openai-go and litellm take only the first call
 * of a chunk, and litellm mixes up the arguments of two calls where a call begins with them.
 */
function toDeltas(calls: ChatCalls): object[] {
  if (!('tool_calls' in calls)) return [calls];
  return calls.tool_calls.flatMap(({ function: { name, arguments: args }, ...call }, index) => [
    { tool_calls: [{ index, ...call, function: { name, arguments: '' } }] },
    { tool_calls: [{ index, function: { arguments: args } }] },
  ]);
}

const NOTHING_ADDED = { choices: [toChoice({}, null)] };

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
