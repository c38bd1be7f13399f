/**
 * What the agent knows about a run: the second fold of its records, from which the loop works. A new run and a run that
 * was interrupted anywhere are the same here: the loop takes `Progress` and continues.
 *
 * A tool call of the last step:
 *   new ──tool.started──▶ running ──tool.completed──▶ done
 *       ├─tool.started (gated)──▶ gated ──tool.executing──▶ running
 *       └─tool.started (client)─▶ waiting ──tool.answered, tool.completed──▶ done
 * A new owner that finds a call `running` does not know its outcome: the call never runs again (see `interrupted`).
 */
import { type ApprovalRequest, addUsage, type EventPayload, NO_USAGE, type Usage } from '@talaria/protocol';
import { type Checkpoint, isMissed } from '../journal/checkpoints.ts';
import type { AssistantPart, FinishReason, Message, ToolCallPart } from '../journal/messages.ts';
import type {
  ContextCut,
  ContextRange,
  LogRecord,
  PrivatePayloads,
  QueuedApproval,
  RunRequest,
  RunTerms,
} from '../journal/records.ts';
import { withTerms } from '../journal/run-terms.ts';
import type { Turn } from '../journal/sessions.ts';
import type { Conversation } from './context/cut.ts';
import { toMessages } from './history-messages.ts';
import type { PastCall } from './tools/tool.ts';

export interface ToolCallProgress {
  call: ToolCallPart;
  phase: 'new' | 'gated' | 'running' | 'waiting' | 'done';
  /** When it started, in ms. */
  startedAt: number;
  /** The gate's question, for a gated call. */
  approval?: QueuedApproval;
  /** For a waiting call: its deadline in ms, and the output that the client has sent. */
  expiresAt?: number;
  answer?: { output: string; isError: boolean; at: number };
  outcome?: { output: string; isError: boolean };
}

/** A call with a recorded outcome. */
export interface CallOutcome {
  pos: number;
  seq: number;
  tool: string;
  toolCallId: string;
}

export interface Answer {
  content: AssistantPart[];
  reason: FinishReason;
}

/** The answer to a question; `message` says why it was denied. */
export type Decision = Pick<EventPayload<'approval.responded'>, 'choice' | 'message'>;

export interface Steer {
  pos: number;
  input: string;
}

/** In a transcript every call has its result. */
const TAKEN_AS_ANSWER = 'The client took this call as the answer and sent no output.';

export class Progress {
  request: RunRequest | undefined;
  /** The first step under the present terms of the request, from 0. */
  termsFromStep = 0;
  /** Earlier turns of the session; undefined until they were read. */
  context: Message[] | undefined;
  /**
   * Their position in the session's transcript, if they are stored there: a replay of the run reads `context` from
   * there.
   */
  contextRange: ContextRange | undefined;
  /** How many messages before those no model can see any more. */
  skipped = 0;
  /** Whether everything that the workspace begins with is in place. */
  isPrepared = false;
  /** The directory of the operator that the run works in, once it is prepared. */
  mounted: string | undefined;
  /** The files of an earlier run that this one begins with. */
  inheritedFiles: Checkpoint | undefined;
  /** The last checkpoint of the files. */
  checkpoint: Checkpoint | undefined;
  /** The last cut of the conversation. */
  lastCut: ContextCut | undefined;
  /** What this run has said, without the open calls of the last step. */
  readonly messages: Message[] = [];
  steps = 0;
  usage: Usage = NO_USAGE;
  claims = 0;
  /** The position of the last claim, and of the one before it. */
  claimedPos = -1;
  claimedBeforePos = -1;
  /** Whether the last owner parked the run. Then this owner continues it and has nothing to recover. */
  continues = false;
  #parked = false;
  /** Whether clients were told that the run waits for them. */
  waitingIsTold = false;
  /** The calls of the last step, until each has an outcome. */
  calls: ToolCallProgress[] = [];
  /** All calls with an outcome. Without interrupted ones: the model knows that those may have changed nothing. */
  readonly outcomes: CallOutcome[] = [];
  #lastOutcomePos = -1;
  /** The last step when it called no tool: the answer, unless steering came meanwhile. */
  answer: Answer | undefined;
  /** How many answers did not have the requested format. */
  refusedAnswers = 0;
  steers: Steer[] = [];
  stopRequested = false;
  /** The approval that was requested and not answered yet. */
  outstanding: ApprovalRequest | undefined;
  /** The calls of client tools by id, whatever tools the client has now. */
  readonly clientCalls = new Set<string>();
  readonly decisions = new Map<string, Decision>();
  lastPostedPos = -1;
  /** Notices that the model has not received yet. */
  notices: string[] = [];
  /** Text after this position belongs to a step that did not finish. */
  settledPos = -1;

  static replay(records: readonly LogRecord[]): Progress {
    const progress = new Progress();
    for (const record of records) progress.apply(record);
    return progress;
  }

  apply(record: LogRecord): void {
    switch (record.event) {
      case 'run.accepted':
        this.#accepted(record.private);
        break;
      case 'run.claimed':
        this.claims += 1;
        this.claimedBeforePos = this.claimedPos;
        this.claimedPos = record.pos;
        this.continues = this.#parked;
        this.#parked = false;
        break;
      case 'run.released':
        this.#parked = record.private.parked === true;
        break;
      case 'run.waiting':
        this.waitingIsTold = true;
        for (const { tool_call_id, expires_at } of record.public.calls) {
          this.#update(tool_call_id, (call) => {
            call.expiresAt = expires_at * 1000;
          });
        }
        break;
      case 'run.context':
        this.takeContext(record.private);
        break;
      case 'workspace.prepared':
        this.isPrepared = record.private.undone !== true;
        this.mounted = record.private.mounted;
        break;
      case 'workspace.checkpointed':
        if (isMissed(record.private)) break;
        this.checkpoint = record.private;
        if (record.private.origin === 'inherited') this.inheritedFiles = record.private;
        break;
      case 'context.cut':
        this.lastCut = record.private;
        break;
      case 'step.completed':
        this.#stepCompleted(record.private.content, record.private.reason);
        this.usage = addUsage(this.usage, record.private.usage);
        this.settledPos = record.pos;
        break;
      case 'answer.refused':
        this.answer = undefined;
        this.refusedAnswers += 1;
        this.messages.push({ role: 'user', content: record.private.problem });
        this.#deliverNotices();
        break;
      case 'run.resumed':
        this.settledPos = record.pos;
        break;
      case 'run.noticed':
        this.notices.push(record.private.text);
        this.#deliverNotices();
        break;
      case 'tool.started':
        this.#update(record.public.tool_call_id, (call) => {
          const { gated, client } = record.private;
          call.phase = client !== undefined ? 'waiting' : gated ? 'gated' : 'running';
          call.startedAt = record.at;
          if (client !== undefined) call.expiresAt = client.expires_at * 1000;
        });
        break;
      case 'approval.queued':
        for (const approval of record.private.approvals) {
          this.#update(approval.tool_call_id, (call) => {
            call.approval = approval;
          });
        }
        break;
      case 'approval.request':
        this.outstanding = record.public;
        break;
      case 'approval.waived':
        this.decisions.set(record.private.request_id, { choice: 'once' });
        break;
      case 'approval.responded':
        this.outstanding = undefined;
        for (const id of record.private.request_ids) this.decisions.set(id, record.public);
        this.lastPostedPos = record.pos;
        break;
      case 'tool.executing':
        this.#update(record.private.tool_call_id, (call) => {
          call.phase = 'running';
        });
        break;
      case 'tool.completed':
        this.#lastOutcomePos = record.pos;
        this.#update(record.public.tool_call_id, (call) => {
          call.phase = 'done';
          call.outcome = { output: record.private.output, isError: record.public.error };
        });
        this.#remember(record);
        this.#closeStep();
        break;
      case 'tool.answered': {
        const { tool_call_id, output, error: isError, terms } = record.private;
        if (terms !== undefined) this.#changeTerms(terms);
        this.#update(tool_call_id, (call) => {
          call.answer = { output, isError, at: record.at };
        });
        this.lastPostedPos = record.pos;
        break;
      }
      case 'steer.requested':
        this.steers.push({ pos: record.pos, input: record.private.input });
        this.lastPostedPos = record.pos;
        break;
      case 'run.steered': {
        const steer = this.steers.find(({ pos }) => pos === record.private.steer_pos);
        this.steers = this.steers.filter((other) => other !== steer);
        this.answer = undefined;
        this.#deliverNotices();
        // The event masks secrets; the model gets the original text.
        this.messages.push({ role: 'user', content: steer?.input ?? record.public.input });
        break;
      }
      case 'stop.requested':
        this.stopRequested = true;
        this.lastPostedPos = record.pos;
        break;
      // The text is in `step.completed`, and an ended run has no progress to make.
      case 'message.delta':
      case 'reasoning.available':
      case 'run.completed':
      case 'run.failed':
      case 'run.cancelled':
        break;
      default:
        record satisfies never;
    }
  }

  /** Whether something has come that the agent has not taken yet, so that the run cannot complete: steering, or outputs. */
  get hasUntaken(): boolean {
    const hasOutput = this.calls.some(({ answer, outcome }) => answer !== undefined && outcome === undefined);
    return hasOutput || this.steers.length > 0;
  }

  /** Earlier turns, as the session has them for this run. */
  takeContext(found: PrivatePayloads['run.context']): void {
    if ('session' in found) {
      this.contextRange = found.session;
      this.skipped = found.skipped ?? 0;
    } else this.context = found.messages;
  }

  /** The whole conversation of this run, for a turn that continues it. */
  transcript(): Message[] {
    return [...this.opening(), ...this.messages];
  }

  /** The whole conversation, and the indices of the prompts in it. */
  conversation(): Conversation {
    const opening = this.opening();
    const { follow_up: followUp = [], inherited } = this.request ?? {};
    const prompts = [opening.length - 1 - followUp.length - this.#inherited().length];
    if (inherited?.input !== undefined) prompts.push(opening.length - 1);
    return { messages: [...opening, ...this.messages], prompts, skipped: this.skipped };
  }

  /** Whether the calls of the last step have ended since the last checkpoint, interrupted ones too. */
  get lacksCheckpoint(): boolean {
    return this.calls.length === 0 && this.#lastOutcomePos > (this.checkpoint?.upto ?? -1);
  }

  /** Where the conversation is cut for the model; see context/cut.ts. */
  get cut(): number {
    return this.lastCut?.before ?? 0;
  }

  /** What was said after the prompt, in this run or in those that it is a fork of. */
  sincePrompt(): Message[] {
    return [...this.#inherited(), ...this.messages];
  }

  /**
   * What this run adds to the transcript of its session: everything that is not stored there yet. `last`: messages that
   * were said, but are not on record yet.
   */
  turn(last: readonly Message[] = []): Turn {
    const { contextRange, messages } = this;
    const opening = this.opening();
    const known = contextRange === undefined ? 0 : contextRange.to - contextRange.from;
    return {
      messages: [...opening.slice(known), ...messages, ...this.#results(), ...last],
      replaces: this.request?.history !== undefined || this.request?.context !== undefined,
    };
  }

  /** The messages before the first step: earlier turns, the prompt, and what was said and done for it elsewhere. */
  opening(): Message[] {
    const request = this.request;
    if (request === undefined) return [];
    const { history = [], lead_in: leadIn = [], prompt, follow_up: followUp = [] } = request;
    return [
      ...toMessages(history),
      ...(this.context ?? []),
      ...toMessages(leadIn),
      { role: 'user', content: prompt },
      ...toMessages(followUp),
      ...this.#inherited(),
    ];
  }

  /**
   * The tool calls since the prompt and before this one, or all of them, in the order of the conversation. Those that a
   * fork has inherited are among them.
   */
  callsBefore(toolCallId?: string): PastCall[] {
    return this.#pastCalls(toolCallId).map(({ call }) => call);
  }

  /** The calls of this run that have ended after this position of the log. */
  callsSince(pos: number): PastCall[] {
    const ended = new Set(this.outcomes.filter((call) => call.pos > pos).map(({ toolCallId }) => toolCallId));
    return this.#pastCalls().flatMap(({ id, call }) => (ended.has(id) ? call : []));
  }

  #pastCalls(toolCallId?: string): { id: string; call: PastCall }[] {
    const said = this.sincePrompt();
    const inherited = said.length - this.messages.length;
    const outcomes = new Map<string, { failed: boolean; output: string }>();
    for (const message of said) {
      if (message.role !== 'tool') continue;
      outcomes.set(message.tool_call_id, { failed: message.is_error, output: message.output });
    }
    for (const { call, outcome } of this.calls) {
      if (outcome) outcomes.set(call.id, { failed: outcome.isError, output: outcome.output });
    }
    const past: { id: string; call: PastCall }[] = [];
    for (const [i, message] of said.entries()) {
      if (message.role !== 'assistant') continue;
      for (const part of message.content) {
        if (part.type !== 'tool_call') continue;
        if (part.id === toolCallId) return past;
        const { failed, output } = outcomes.get(part.id) ?? { failed: false, output: '' };
        const ofClient = this.clientCalls.has(part.id);
        const { id, tool, arguments: args } = part;
        const isInherited = i < inherited;
        past.push({ id, call: { tool, ofClient, isInherited, arguments: args, failed, output } });
      }
    }
    return past;
  }

  #accepted(request: RunRequest): void {
    const { context, skipped, inherited } = request;
    this.request = request;
    this.context = context;
    this.contextRange = inherited?.session;
    this.skipped = skipped ?? 0;
    this.lastCut = inherited?.cut;
    for (const id of inherited?.client_calls ?? []) this.clientCalls.add(id);
  }

  #inherited(): Message[] {
    const { messages = [], input } = this.request?.inherited ?? {};
    return input === undefined ? messages : [...messages, { role: 'user', content: input }];
  }

  #changeTerms(terms: RunTerms): void {
    if (this.request === undefined) return;
    this.request = withTerms(this.request, terms);
    this.termsFromStep = this.steps;
    this.refusedAnswers = 0;
  }

  #stepCompleted(content: AssistantPart[], reason: FinishReason): void {
    this.steps += 1;
    this.waitingIsTold = false;
    this.messages.push({ role: 'assistant', content });
    this.calls = content
      .filter((part) => part.type === 'tool_call')
      .map((call) => ({ call, phase: 'new', startedAt: 0 }));
    const ofClient = new Set(this.request?.client_tools?.tools.map(({ name }) => name));
    for (const { call } of this.calls) if (ofClient.has(call.tool)) this.clientCalls.add(call.id);
    this.answer = this.calls.length === 0 ? { content, reason } : undefined;
  }

  #remember({ pos, seq, ...record }: Extract<LogRecord, { event: 'tool.completed' }>): void {
    const { tool, tool_call_id: toolCallId } = record.public;
    if (seq !== null && record.private.interrupted !== true)
      this.outcomes.push({ pos, seq, tool, toolCallId });
  }

  /** When every call has its outcome, the results join the conversation, in the order of the calls. */
  #closeStep(): void {
    if (this.calls.length === 0 || this.calls.some((call) => call.outcome === undefined)) return;
    this.messages.push(...this.#results());
    this.calls = [];
    this.#deliverNotices();
  }

  /** A call without an outcome is one that the run has ended with. */
  #results(): Message[] {
    return this.calls.map(({ call, outcome }) => ({
      role: 'tool',
      tool_call_id: call.id,
      tool: call.tool,
      output: outcome?.output ?? TAKEN_AS_ANSWER,
      is_error: outcome?.isError ?? false,
    }));
  }

  /** Never between calls and their results, nor after the answer. */
  #deliverNotices(): void {
    if (this.calls.length > 0 || this.answer !== undefined) return;
    for (const content of this.notices.splice(0)) this.messages.push({ role: 'user', content });
  }

  #update(toolCallId: string, change: (call: ToolCallProgress) => void): void {
    const found = this.calls.find(({ call }) => call.id === toolCallId);
    if (found !== undefined) change(found);
  }
}
