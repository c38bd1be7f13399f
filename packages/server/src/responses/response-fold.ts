/**
 * A run as OpenAI's clients see it: the third fold of its records. Each record in turn gives the events it means in a
 * stream of `/v1/responses`, and what they add up to is the response. Pure, and the numbers of the events follow from
 * the records alone, so that whoever comes back with the last number it has had is given exactly the rest.
 *
 *   response.created ── at the first event of the run ──▶ response.in_progress
 *   text of a step   ── item added, part added, delta…, text done, part done ──▶ item done
 *   tool.started     ── item added, arguments delta and done ──▶ item done      (function_call)
 *   tool.completed   ── item added ──▶ item done                                (function_call_output)
 *   approval.…       ── response.in_progress, with the question or without it
 *   the end          ── response.completed, response.incomplete (an answer cut short by the model's provider), or
 *                       response.failed, which is also for a run that was stopped
 *
 * Only names that OpenAI has: its clients give up on a stream at one they do not know.
 *
 * Text that a restart cut off is said again. Its item is closed as `incomplete` and is no part of the response any
 * more; its `output_index` is not used again, so from then on the indices of the stream are ahead of the list.
 *
 * The text of a step may come as its deltas, or whole with `step.completed` where the records were read without them.
 * Both give the same response; the ids of items count steps and calls, which stand in either.
 */
import {
  API_ERRORS,
  type ApprovalRequest,
  addUsage,
  NO_USAGE,
  type ResponseEvent,
  type ResponseEventPayload,
  type ResponseEventType,
  type ResponseItem,
  type ResponseObject,
  type ResponseStatus,
  type Usage,
} from '@talaria/protocol';
import type { LogRecord, PrivatePayloads } from '../journal/records.ts';
import type { ResponseSettings } from '../journal/responses.ts';
import type { Masking } from './masking.ts';
import { type ResponseHead, type ResponseState, responseObject } from './response-object.ts';

/** What is read of a record; where it stands in the journal does not matter. */
export type FoldedRecord = LogRecord extends infer R
  ? R extends LogRecord
    ? Omit<R, 'pos' | 'seq'>
    : never
  : never;

/** Failures that leave an answer, of which OpenAI says that it is incomplete. */
const INCOMPLETE_REASONS: ReadonlyMap<string, string> = new Map([
  ['output_truncated', 'max_output_tokens'],
  ['content_filtered', 'content_filter'],
]);

type EndType = 'response.completed' | 'response.incomplete' | 'response.failed';
type MessageItem = Extract<ResponseItem, { type: 'message' }>;
type ItemStatus = NonNullable<MessageItem['status']>;

interface OpenMessage {
  id: string;
  outputIndex: number;
  text: string;
  /** Its step is complete: nothing of it will be said again. */
  settled: boolean;
}

export class ResponseFold {
  readonly #head: ResponseHead;
  readonly #masking: Masking;
  readonly #output: ResponseItem[] = [];
  #events: ResponseEvent[] = [];
  #nextNumber = 0;
  #nextIndex = 0;
  #status: ResponseStatus = 'queued';
  #announced = false;
  #message: OpenMessage | undefined;
  /** The arguments of calls the model has made and nobody has seen yet, by call id. */
  readonly #arguments = new Map<string, string>();
  readonly #calls = new Map<string, number>();
  #steps = 0;
  #resumes = 0;
  #usage: Usage = NO_USAGE;
  #approval: ApprovalRequest | null = null;
  #error: ResponseState['error'] = null;
  #incompleteReason: string | null = null;
  #completedAt: number | null = null;

  constructor(head: ResponseHead, masking: Masking) {
    this.#head = { ...head, settings: maskedSettings(head.settings, masking) };
    this.#masking = masking;
  }

  /** The event before all records. */
  open(): ResponseEvent[] {
    this.#emit('response.created', {
      response: this.#snapshot(this.#head.settings.background ? 'queued' : 'in_progress'),
    });
    return this.#taken();
  }

  apply(record: FoldedRecord): ResponseEvent[] {
    if (record.event === 'run.claimed') this.#status = 'in_progress';
    if (record.public !== undefined && !this.#announced) {
      this.#announced = true;
      this.#status = 'in_progress';
      this.#emitState();
    }
    this.#apply(record);
    return this.#taken();
  }

  /** The number of the last event; -1 before the first. */
  get lastNumber(): number {
    return this.#nextNumber - 1;
  }

  /** The response as it is by now. */
  get response(): ResponseObject {
    return this.#snapshot(this.#status);
  }

  #apply(record: FoldedRecord): void {
    switch (record.event) {
      case 'message.delta':
        this.#addText(record.public.delta);
        break;
      case 'step.completed':
        this.#completeStep(record.private);
        break;
      case 'tool.started':
        this.#closeMessage();
        this.#addCall(record.public);
        break;
      case 'tool.completed':
        this.#addOutput(record.public.tool_call_id, record.private.output);
        break;
      case 'approval.request':
        this.#approval = record.public;
        this.#emitState();
        break;
      case 'approval.responded':
        this.#approval = null;
        this.#emitState();
        break;
      case 'run.steered':
        this.#closeMessage();
        break;
      case 'run.resumed':
        if (this.#message?.settled === false) this.#discardMessage();
        this.#resumes += 1;
        break;
      case 'run.completed':
        this.#completedAt = record.at;
        this.#end('response.completed', 'completed');
        break;
      case 'run.failed':
        this.#fail(record.public.error_code, record.public.error);
        break;
      case 'run.cancelled':
        this.#error = { code: 'run_cancelled', message: API_ERRORS.run_cancelled.message };
        this.#end('response.failed', 'cancelled');
        break;
      default:
    }
  }

  #addText(delta: string): void {
    const message = this.#message ?? this.#openMessage();
    message.text += delta;
    this.#emit('response.output_text.delta', { ...placeOf(message), delta, logprobs: [] });
  }

  #completeStep({ content, usage }: PrivatePayloads['step.completed']): void {
    const text = content.map((part) => (part.type === 'text' ? part.text : '')).join('');
    if (this.#message === undefined && text !== '') this.#addText(this.#masking.text(text));
    if (this.#message !== undefined) this.#message.settled = true;
    for (const part of content) {
      if (part.type === 'tool_call') this.#arguments.set(part.id, part.arguments);
    }
    this.#steps += 1;
    this.#usage = addUsage(this.#usage, usage);
  }

  #openMessage(): OpenMessage {
    // Counting the resumes too: what is said again is another item than what was cut off.
    const id = this.#itemId('msg', this.#steps * 0x100 + Math.min(this.#resumes, 0xff));
    const message: OpenMessage = { id, outputIndex: this.#nextIndex++, text: '', settled: false };
    this.#message = message;
    this.#emit('response.output_item.added', {
      output_index: message.outputIndex,
      item: { id, type: 'message', status: 'in_progress', role: 'assistant', content: [] },
    });
    this.#emit('response.content_part.added', { ...placeOf(message), part: textPart('') });
    return message;
  }

  #closeMessage(cutShort = false): void {
    const message = this.#message;
    if (message === undefined) return;
    this.#message = undefined;
    this.#output.push(this.#endItem(message, message.settled && !cutShort ? 'completed' : 'incomplete'));
  }

  #discardMessage(): void {
    this.#endItem(this.#message!, 'incomplete');
    this.#message = undefined;
  }

  #endItem(message: OpenMessage, status: 'completed' | 'incomplete'): MessageItem {
    const item = messageItem(message, status);
    this.#emit('response.output_text.done', { ...placeOf(message), text: message.text, logprobs: [] });
    this.#emit('response.content_part.done', { ...placeOf(message), part: textPart(message.text) });
    this.#emit('response.output_item.done', { output_index: message.outputIndex, item });
    return item;
  }

  #addCall(started: { tool: string; tool_call_id: string; arguments: Record<string, unknown> }): void {
    const callId = started.tool_call_id;
    const written = this.#arguments.get(callId);
    this.#arguments.delete(callId);
    this.#calls.set(callId, this.#calls.size);
    const text = written === undefined ? JSON.stringify(started.arguments) : this.#masking.json(written);
    const id = this.#itemId('fc', this.#calls.size - 1);
    const call = { id, type: 'function_call', call_id: callId, name: started.tool } as const;
    const place = { item_id: id, output_index: this.#nextIndex };
    const item: ResponseItem = { ...call, status: 'completed', arguments: text };
    this.#addItem({ ...call, status: 'in_progress', arguments: '' }, item, () => {
      this.#emit('response.function_call_arguments.delta', { ...place, delta: text });
      this.#emit('response.function_call_arguments.done', { ...place, name: started.tool, arguments: text });
    });
  }

  #addOutput(callId: string, output: string): void {
    const id = this.#itemId('fco', this.#calls.get(callId) ?? this.#calls.size);
    const item = { id, type: 'function_call_output', call_id: callId } as const;
    this.#addItem(
      { ...item, status: 'in_progress', output: '' },
      { ...item, status: 'completed', output: this.#masking.shown(output) },
    );
  }

  #addItem(added: ResponseItem, done: ResponseItem, between = () => {}): void {
    const output_index = this.#nextIndex++;
    this.#emit('response.output_item.added', { output_index, item: added });
    between();
    this.#emit('response.output_item.done', { output_index, item: done });
    this.#output.push(done);
  }

  #fail(code: string, message: string): void {
    const reason = INCOMPLETE_REASONS.get(code);
    if (reason === undefined) {
      this.#error = { code, message };
      this.#end('response.failed', 'failed');
    } else {
      this.#incompleteReason = reason;
      this.#end('response.incomplete', 'incomplete');
    }
  }

  #end(type: EndType, status: ResponseStatus): void {
    this.#closeMessage(status === 'incomplete');
    this.#status = status;
    this.#approval = null;
    this.#emit(type, { response: this.response });
  }

  #snapshot(status: ResponseStatus): ResponseObject {
    const open = this.#message === undefined ? [] : [messageItem(this.#message, 'in_progress')];
    return responseObject(this.#head, {
      status,
      output: [...this.#output, ...open],
      usage: this.#usage,
      error: this.#error,
      incompleteReason: this.#incompleteReason,
      approval: this.#approval,
      completedAt: this.#completedAt,
    });
  }

  #itemId(prefix: string, n: number): string {
    return `${prefix}_${this.#head.responseId.slice('resp_'.length)}${n.toString(16).padStart(6, '0')}`;
  }

  /** Without the items, which have events of their own: a run that asks often would repeat them as often. */
  #emitState(): void {
    this.#emit('response.in_progress', { response: { ...this.response, output: [] } });
  }

  #emit<T extends ResponseEventType>(type: T, payload: ResponseEventPayload<T>): void {
    this.#events.push({ type, sequence_number: this.#nextNumber++, ...payload } as ResponseEvent);
  }

  #taken(): ResponseEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }
}

function maskedSettings(settings: ResponseSettings, { text }: Masking): ResponseSettings {
  const { instructions, metadata } = settings;
  return {
    ...settings,
    instructions: instructions === null ? null : text(instructions),
    metadata: Object.fromEntries(Object.entries(metadata).map((pair) => pair.map(text))),
  };
}

function placeOf({ id, outputIndex }: OpenMessage) {
  return { item_id: id, output_index: outputIndex, content_index: 0 };
}

function textPart(text: string): MessageItem['content'][number] {
  return { type: 'output_text', text, annotations: [] };
}

function messageItem({ id, text }: OpenMessage, status: ItemStatus): MessageItem {
  return { id, type: 'message', status, role: 'assistant', content: [textPart(text)] };
}
