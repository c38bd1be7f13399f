/**
 * A run as OpenAI's clients see it: the third fold of its records. Each record gives its events in a stream of
 * `/v1/responses`, and together they make the response. The fold is pure, and the numbers of the events follow from the
 * records alone, so a client that comes back with its last number gets exactly the rest.
 *
 *   response.created ── at the first event of the run ──▶ response.in_progress
 *   text of a step   ── a message (message-items.ts)
 *   reasoning        ── an item of its own (reasoning-items.ts)
 *   tool.started     ── a call, open until tool.completed (call-items.ts)
 *   approval.…       ── response.in_progress, with the question or without it; a message that says so, where it is asked for
 *   run.waiting      ── calls of the client's tools, then response.completed: what follows is another response
 *   the end          ── response.completed, response.incomplete (an answer cut short by the model's provider), or
 *                       response.failed, which is also for a run that was stopped
 *
 * Only event names that OpenAI has: its clients give up on a stream when they see an unknown one.
 *
 * Text that a restart interrupted is repeated. Its items are closed and are not part of the response any more; their
 * `output_index` is not used again, so from then on the indices in the stream are higher than in the list.
 *
 * The text of a step may come as its deltas, or whole with `step.completed` if the records were read without deltas.
 * Both give the same response; the ids of items count steps and calls, which are in both. An answer with a requested
 * format is shown in one delta after it was checked; the text of steps is not part of it.
 *
 * A run that waited for its client is several responses. A fold gets the records of one of them.
 */
import {
  API_ERRORS,
  type ApprovalRequest,
  addUsage,
  NO_USAGE,
  type ResponseEvent,
  type ResponseEventPayload,
  type ResponseEventType,
  type ResponseObject,
  type ResponseStatus,
  type Usage,
} from '@talaria/protocol';
import type { LogRecord, PrivatePayloads } from '../journal/records.ts';
import type { Secrets } from '../secrets/secrets.ts';
import { approvalAnswerText, approvalText } from './approval-text.ts';
import { CallItems } from './call-items.ts';
import { MessageItems } from './message-items.ts';
import { OutputItems } from './output-items.ts';
import { ReasoningItems } from './reasoning-items.ts';
import { maskedSettings, type ResponseHead, type ResponseState, responseObject } from './response-object.ts';

/** The parts of a record that are read; its position in the journal does not matter. */
export type FoldedRecord = LogRecord extends infer R
  ? R extends LogRecord
    ? Omit<R, 'pos' | 'seq'>
    : never
  : never;

/** Failures that still have an answer, which OpenAI calls incomplete. */
const INCOMPLETE_REASONS: ReadonlyMap<string, string> = new Map([
  ['output_truncated', 'max_output_tokens'],
  ['content_filtered', 'content_filter'],
]);

type EndType = 'response.completed' | 'response.incomplete' | 'response.failed';

export class ResponseFold {
  readonly #head: ResponseHead;
  readonly #secrets: Secrets;
  readonly #items: OutputItems;
  readonly #messages: MessageItems;
  readonly #reasoning: ReasoningItems;
  readonly #calls: CallItems;
  #events: ResponseEvent[] = [];
  #nextNumber = 0;
  #status: ResponseStatus = 'queued';
  #announced = false;
  #ended = false;
  /** The step of the open message is complete: none of it will be repeated. */
  #messageIsSettled = false;
  /** The arguments of calls that were made but not shown yet, by call id. */
  readonly #arguments = new Map<string, string>();
  #steps = 0;
  #resumes = 0;
  #usage: Usage = NO_USAGE;
  #approval: ApprovalRequest | null = null;
  #error: ResponseState['error'] = null;
  #incompleteReason: string | null = null;
  #completedAt: number | null = null;

  constructor(head: ResponseHead, secrets: Secrets) {
    this.#head = { ...head, settings: maskedSettings(head.settings, secrets) };
    this.#secrets = secrets;
    this.#items = new OutputItems((type, payload) => this.#emit(type, payload));
    const digits = head.responseId.slice('resp_'.length);
    const itemId = (prefix: string, n: number) => `${prefix}_${digits}${n.toString(16).padStart(6, '0')}`;
    this.#messages = new MessageItems(this.#items, itemId);
    this.#reasoning = new ReasoningItems(this.#items, itemId);
    this.#calls = new CallItems(this.#items, itemId, head.settings.tool_items);
  }

  /** The event before all records. */
  open(): ResponseEvent[] {
    this.#emit('response.created', {
      response: this.#snapshot(this.#head.settings.background ? 'queued' : 'in_progress'),
    });
    return this.#taken();
  }

  apply(record: FoldedRecord): ResponseEvent[] {
    if (this.#ended) return [];
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

  /** The response in its present state. */
  get response(): ResponseObject {
    return this.#snapshot(this.#status);
  }

  get #hasForm(): boolean {
    return this.#head.settings.output_form !== null;
  }

  #apply(record: FoldedRecord): void {
    switch (record.event) {
      case 'message.delta':
        this.#say(record.public.delta);
        break;
      case 'reasoning.available':
        this.#reasoning.add(record.public.text, this.#messages.slot);
        break;
      case 'step.completed':
        this.#completeStep(record.private);
        break;
      case 'tool.started':
        this.#closeMessage();
        // The client hears of its own tools when it has to run them.
        if (record.public.client !== true) this.#startCall(record.public);
        break;
      case 'tool.completed': {
        const { tool_call_id: id, error } = record.public;
        this.#calls.complete(id, this.#secrets.mask(record.private.output), error);
        break;
      }
      case 'approval.request':
        this.#approval = record.public;
        this.#emitState();
        this.#notice(approvalText(this.#head.runId, record.public));
        break;
      case 'approval.responded':
        this.#approval = null;
        this.#emitState();
        this.#notice(approvalAnswerText(record.public));
        break;
      case 'run.steered':
        this.#closeMessage();
        break;
      case 'run.resumed':
        if (!this.#messageIsSettled) this.#messages.discard();
        this.#reasoning.discard();
        this.#resumes += 1;
        break;
      case 'run.waiting':
        this.#closeMessage();
        this.#calls.askFor(this.#head.runId, record.public.calls);
        this.#complete(record.at);
        break;
      case 'run.completed':
        this.#messageIsSettled = true;
        this.#complete(record.at);
        break;
      case 'run.failed':
        this.#fail(record.public.error_code, record.public.error);
        break;
      case 'run.cancelled':
        this.#error = { code: 'run_cancelled', message: API_ERRORS.run_cancelled.message };
        this.#end('response.failed', 'cancelled');
        break;
      // Records for the agent that nobody is shown. `apply` has handled `run.claimed`.
      case 'run.accepted':
      case 'run.claimed':
      case 'run.released':
      case 'run.context':
      case 'run.noticed':
      case 'workspace.prepared':
      case 'workspace.checkpointed':
      case 'context.cut':
      case 'answer.refused':
      case 'approval.queued':
      case 'approval.waived':
      case 'tool.executing':
      case 'tool.answered':
      case 'stop.requested':
      case 'steer.requested':
        break;
      default:
        record satisfies never;
    }
  }

  #say(delta: string): void {
    if (this.#messages.slot === undefined) this.#messageIsSettled = false;
    // Counts resumptions too: repeated text is another item than the interrupted one. An answer with a requested format
    // is the only message, and its step may come before or after it.
    const step = this.#hasForm ? 0 : this.#steps;
    this.#messages.add(delta, step * 0x100 + Math.min(this.#resumes, 0xff));
  }

  #completeStep({ content, usage }: PrivatePayloads['step.completed']): void {
    if (!this.#hasForm) {
      const text = content.map((part) => (part.type === 'text' ? part.text : '')).join('');
      if (this.#messages.slot === undefined && text !== '') this.#say(this.#secrets.maskKnown(text));
      this.#messageIsSettled = true;
    }
    for (const part of content) {
      if (part.type === 'tool_call') this.#arguments.set(part.id, part.arguments);
    }
    this.#reasoning.settle();
    this.#steps += 1;
    this.#usage = addUsage(this.#usage, usage);
  }

  #startCall(started: { tool: string; tool_call_id: string; arguments: Record<string, unknown> }): void {
    const { tool, tool_call_id: id } = started;
    const written = this.#arguments.get(id);
    this.#arguments.delete(id);
    const shown = written === undefined ? JSON.stringify(started.arguments) : this.#secrets.maskJson(written);
    this.#calls.start({ id, tool, arguments: shown });
  }

  #notice(text: string): void {
    if (this.#head.settings.tells_approvals) this.#messages.notice(text);
  }

  #closeMessage(cutShort = false): void {
    this.#messages.close(this.#messageIsSettled && !cutShort ? 'completed' : 'incomplete');
  }

  #complete(at: number): void {
    this.#completedAt = at;
    this.#end('response.completed', 'completed');
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
    this.#calls.cutOff();
    this.#status = status;
    this.#approval = null;
    this.#ended = true;
    this.#emit(type, { response: this.response });
  }

  #snapshot(status: ResponseStatus): ResponseObject {
    return responseObject(this.#head, {
      status,
      output: this.#items.list,
      usage: this.#usage,
      error: this.#error,
      incompleteReason: this.#incompleteReason,
      approval: this.#approval,
      completedAt: this.#completedAt,
    });
  }

  /**
   * With only the open items, which clients look up by index. The others have had their events, and a run with many
   * approvals would repeat them each time.
   */
  #emitState(): void {
    const open = this.#items.list.filter(({ status }) => status === 'in_progress');
    this.#emit('response.in_progress', { response: { ...this.response, output: open } });
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
