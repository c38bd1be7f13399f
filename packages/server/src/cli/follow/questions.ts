/**
 * The approvals of a run, asked one after the other while its events continue; and the tool calls it waits for from its
 * client, which nobody here is asked about, but which can be answered from elsewhere.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type ApprovalChoice, ConflictError, type Run, type RunEvent, type Talaria } from '@talaria/client';
import { howToApprove, type Question } from '../runs/approval-question.ts';
import { howToAnswer } from '../runs/pending-call.ts';
import { safeLine } from '../text/safe-text.ts';
import type { EventOf } from './event-lines.ts';
import type { RunView } from './run-view.ts';

export interface QuestionsOptions {
  readonly client: Talaria;
  readonly runId: string;
  readonly view: RunView;
  /** The flag that named the server. */
  readonly server: string | undefined;
}

/** In past events, the answer to a question comes right after it. */
const PAST_MS = 150;

/** Sending an answer again is safe: it names its question. */
const ANSWER_RETRIES = 3;

const NOT_KNOWN: Partial<Run> = {};

export class Questions {
  readonly #options: QuestionsOptions;
  readonly #left: AbortSignal;
  #settled = new AbortController();
  #turn: Promise<void> = Promise.resolve();

  constructor(options: QuestionsOptions, left: AbortSignal) {
    this.#options = options;
    this.#left = left;
  }

  see(event: RunEvent): void {
    if (event.event === 'run.waiting') void this.#tellOfCalls(event);
    if (event.event === 'approval.responded') this.settle();
    if (event.event !== 'approval.request') return;
    this.settle();
    this.#settled = new AbortController();
    const signal = AbortSignal.any([this.#settled.signal, this.#left]);
    this.#turn = this.#turn.then(() => this.#ask(event, signal));
  }

  settle(): void {
    this.#settled.abort();
  }

  async #ask(question: EventOf<'approval.request'>, signal: AbortSignal): Promise<void> {
    const { view, runId, server } = this.#options;
    if (await isSettledSoon(signal)) return;
    if (view.prompt === undefined) {
      view.note(howToApprove(question, runId, server));
      return;
    }
    while (!signal.aborted) {
      const choice = await view.prompt.ask(question, signal);
      if (choice === undefined || (await this.#answer(question, choice))) return;
    }
  }

  /** Only calls that are pending now: the events may be from the past. */
  async #tellOfCalls({ calls }: EventOf<'run.waiting'>): Promise<void> {
    const { client, runId, view } = this.#options;
    const { pending_calls = [] } = await client.runs
      .get(runId, { signal: this.#left })
      .catch(() => NOT_KNOWN);
    const told = new Set(calls.map(({ tool_call_id }) => tool_call_id));
    const open = pending_calls.filter(({ tool_call_id }) => told.has(tool_call_id));
    if (open.length > 0) view.note(howToAnswer(runId, open, this.#options.server));
  }

  async #answer({ request_id }: Question, choice: ApprovalChoice): Promise<boolean> {
    const { client, runId, view } = this.#options;
    try {
      const answer = { choice, ...(request_id === undefined ? {} : { request_id }) };
      await client.runs.respondApproval(runId, answer, { maxRetries: ANSWER_RETRIES });
    } catch (error) {
      // Somebody else or the timeout was faster; the event that says so is on its way.
      if (error instanceof ConflictError) return true;
      view.note(`The answer did not arrive: ${safeLine((error as Error).message)}`);
      return false;
    }
    return true;
  }
}

async function isSettledSoon(signal: AbortSignal): Promise<boolean> {
  await delay(PAST_MS, undefined, { signal }).catch(() => {});
  return signal.aborted;
}
