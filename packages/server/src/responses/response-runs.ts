/**
 * Responses as runs: what `/v1/responses` can do. A response is a run under another name, or a part of a run that
 * waited for its client. Everything about it is read from its run's log, or from the snapshot that was saved when the
 * run was evicted.
 */
import {
  type CreateResponse,
  createId,
  type HistoryMessage,
  isResponseId,
  isTerminalEvent,
  isTerminalStatus,
  type ResponseObject,
  type ResponseStatus,
  type Run,
  type RunCreated,
  TalariaError,
  TRUNCATION_AUTO_MESSAGES,
} from '@talaria/protocol';
import { tokensOf } from '../agent/context/cut.ts';
import { textTokens } from '../agent/context/estimate-tokens.ts';
import { toMessages } from '../agent/history-messages.ts';
import type { Engine } from '../engine/engine.ts';
import type { Idempotency } from '../engine/run-creation.ts';
import type { Journal } from '../journal/journal.ts';
import type { ResponseSettings, StoredResponse } from '../journal/responses.ts';
import type { StoredRun } from '../journal/run-state.ts';
import type { SessionRange } from '../journal/sessions.ts';
import type { Secrets } from '../secrets/secrets.ts';
import { branchFrom } from './branch.ts';
import { runOfCallId } from './call-ids.ts';
import { ConversationAccess } from './conversations.ts';
import { toInputItems } from './input-items.ts';
import type { Item } from './item-lists.ts';
import { ResponseFold } from './response-fold.ts';
import { responseIdOf } from './response-ids.ts';
import { readResponse } from './response-log.ts';
import type { ResponseHead } from './response-object.ts';
import { type ResponseView, responseSettings } from './response-settings.ts';

/** A stop takes effect within five seconds; the caller does not wait longer than that. */
const CANCEL_WAIT_MS = 5_000;

export interface ResponseRunsOptions {
  engine: Engine;
  journal: Journal;
  secrets: Secrets;
  modelName: string;
  /** How many responses of each API key are kept. */
  maxStored: number;
}

export interface SubmitOptions {
  /** The session, if neither a conversation nor a previous response names one. */
  sessionId: string | undefined;
  /** The input items, as JSON. */
  input: string;
  idempotency: Idempotency | undefined;
  traceparent: string | undefined;
}

/** A part of a run, from an event on. */
export interface RunPart {
  run: Run;
  afterSeq: number;
}

const ACTIVE: ReadonlySet<string> = new Set<ResponseStatus>(['queued', 'in_progress']);

export class ResponseRuns {
  readonly conversations: ConversationAccess;
  readonly #options: ResponseRunsOptions;

  constructor(options: ResponseRunsOptions) {
    this.#options = options;
    this.conversations = new ConversationAccess(options.journal, options.secrets);
  }

  /** In the state of a new run, or of a run about to be continued. */
  settings(asked: CreateResponse, view: Omit<ResponseView, 'model'>): ResponseSettings {
    const { engine, modelName: model } = this.#options;
    return responseSettings(asked, { model, ...view }, engine.submissions.allowedSettings(asked.settings));
  }

  async submit(
    owner: string,
    asked: CreateResponse,
    settings: ResponseSettings,
    options: SubmitOptions,
  ): Promise<RunCreated> {
    try {
      return await this.#submit(owner, (await this.#branch(owner, asked)) ?? asked, settings, options);
    } catch (error) {
      if (error instanceof TalariaError && error.code === 'previous_response_not_completed') {
        await this.#expectOutputs(owner, asked);
      }
      throw error;
    }
  }

  /** The request as one for a new run, if it brings outputs for an older response that asked for calls. */
  async #branch(owner: string, asked: CreateResponse): Promise<CreateResponse | undefined> {
    const { previousResponseId: previous, outputs } = asked;
    if (previous === undefined || outputs.length === 0) return undefined;
    const { journal } = this.#options;
    const stored = isResponseId(previous) ? await journal.responses.get(owner, previous) : undefined;
    const branch = stored && (await branchFrom(journal, stored, asked));
    if (branch !== undefined) await this.#expectOutputs(owner, asked);
    return branch;
  }

  async #submit(
    owner: string,
    request: CreateResponse,
    settings: ResponseSettings,
    options: SubmitOptions,
  ): Promise<RunCreated> {
    const { engine, maxStored } = this.#options;
    const { prompt, instructions, conversation, previousResponseId: previous, store } = request;
    const { clientTools, outputForm, followUp } = request;
    const { idempotency, traceparent, input } = options;
    const max = request.truncation === 'auto' ? TRUNCATION_AUTO_MESSAGES : undefined;
    const history = max === undefined ? request.history : request.history?.slice(-max);
    const leadIn = max === undefined ? request.leadIn : request.leadIn?.slice(-max);
    const maxContextMessages = max === undefined ? undefined : max - (leadIn?.length ?? 0);
    const run = {
      prompt,
      history,
      leadIn,
      followUp,
      instructions,
      clientTools,
      outputForm,
      settings: request.settings,
      inline: !request.background,
      maxContextMessages,
      previousResponseId: undefined,
    };
    const named = previous === undefined ? (conversation ?? options.sessionId) : undefined;
    if (store) {
      const response = { settings, previous, input, maxStored };
      const submission = { ...run, sessionId: named ?? createId('sess'), response };
      return engine.submissions.submit(owner, submission, idempotency, traceparent);
    }
    // Nothing of it is stored but the run itself, so the run is not in the session that it continues.
    const context = history === undefined ? await this.#contextOf(owner, previous, named) : undefined;
    return engine.submissions.submit(
      owner,
      { ...run, sessionId: undefined, context },
      idempotency,
      traceparent,
    );
  }

  /**
   * The response that begins when the run gets the outputs of its client's tools. It is stored if the one before it is;
   * the same request again gives the same response.
   */
  async continue(
    asked: CreateResponse,
    view: Omit<ResponseView, 'model'>,
    input: readonly unknown[],
    { run, afterSeq }: RunPart,
  ): Promise<ResponseHead> {
    const { journal, maxStored } = this.#options;
    const stored = asked.store ? await journal.responses.ofRun(run.run_id) : [];
    const settings = this.settings({ ...asked, store: stored.length > 0 }, view);
    const head = { ...headOf(run, settings, afterSeq), createdAt: Date.now() };
    const { responseId } = head;
    const known = stored.find((response) => response.responseId === responseId);
    const before = stored.findLast((response) => response.afterSeq < afterSeq);
    if (known !== undefined || before === undefined) return known ?? head;
    const next = { responseId, afterSeq, settings, input: JSON.stringify(input), maxStored };
    await journal.responses.add(before, next);
    return (await journal.responses.get(before.owner, responseId)) ?? head;
  }

  /** A response that asked its client for calls cannot be continued without their outputs. */
  async #expectOutputs(owner: string, { previousResponseId, outputs }: CreateResponse): Promise<void> {
    const { output } = await this.get(owner, previousResponseId!);
    const given = new Set(outputs.map(({ toolCallId }) => toolCallId));
    for (const item of output) {
      if (item.type !== 'function_call' || runOfCallId(item.call_id) === undefined) continue;
      if (given.has(item.call_id)) continue;
      const message = `No tool output found for function call ${item.call_id}`;
      throw new TalariaError('invalid_request', { message, param: 'input' });
    }
  }

  async #contextOf(
    owner: string,
    previous: string | undefined,
    session: string | undefined,
  ): Promise<SessionRange | undefined> {
    const { responses, sessions } = this.#options.journal;
    if (previous !== undefined) return responses.context(owner, previous);
    const stored = session === undefined ? undefined : await sessions.get(owner, session);
    if (stored === undefined) return undefined;
    const { sessionId, contextFrom: from, nextPos: to } = stored;
    return { sessionId, from, to };
  }

  /** The response in its present state. */
  async read(head: ResponseHead): Promise<ResponseObject> {
    const { journal, secrets } = this.#options;
    const response = await readResponse(journal, head, secrets);
    if (response !== undefined) return response;
    // Evicted a moment ago: a stored response has left a snapshot.
    const responses = await journal.responses.ofRun(head.runId);
    const stored = responses.find(({ responseId }) => responseId === head.responseId);
    const kept = stored && snapshotOf(stored);
    if (kept === undefined) throw notFound(head.responseId);
    return kept;
  }

  fold(head: ResponseHead): ResponseFold {
    return new ResponseFold(head, this.#options.secrets);
  }

  async get(owner: string, responseId: string): Promise<ResponseObject> {
    const stored = await this.find(owner, responseId);
    return snapshotOf(stored) ?? (await this.read(stored));
  }

  /** By estimate: the request and what it continues, without what the agent adds itself. */
  async inputTokens(owner: string, asked: CreateResponse, sessionId: string | undefined): Promise<number> {
    const { previousResponseId, conversation, history, leadIn, prompt, followUp } = asked;
    const said: HistoryMessage[] = [
      ...(history ?? []),
      ...(leadIn ?? []),
      { role: 'user', content: prompt },
      ...(followUp ?? []),
    ];
    const named = conversation ?? sessionId;
    const range = history === undefined ? await this.#contextOf(owner, previousResponseId, named) : undefined;
    const before =
      range === undefined ? [] : await this.#options.journal.sessions.messages(owner, range.sessionId, range);
    const tools = asked.clientTools === undefined ? '' : JSON.stringify(asked.clientTools.tools);
    return (
      tokensOf([...before.map(({ message }) => message), ...toMessages(said)]) +
      textTokens(asked.instructions ?? '') +
      textTokens(tools)
    );
  }

  /** The input items. */
  async inputItems(owner: string, responseId: string): Promise<Item[]> {
    const { journal, secrets } = this.#options;
    const input = isResponseId(responseId) ? await journal.responses.input(owner, responseId) : undefined;
    if (input === undefined) throw notFound(responseId);
    return toInputItems(responseId, input, secrets);
  }

  /** The output and input items of the response; none when there is no such response. */
  async itemsOf(owner: string, responseId: string): Promise<Item[]> {
    const stored = await this.#options.journal.responses.get(owner, responseId);
    if (stored === undefined) return [];
    const { output } = snapshotOf(stored) ?? (await this.read(stored));
    return [...(output as Item[]), ...(await this.inputItems(owner, responseId))];
  }

  async delete(owner: string, responseId: string): Promise<void> {
    await this.find(owner, responseId);
    await this.#options.journal.responses.delete(owner, responseId);
  }

  /** Stops a background response, and returns it in its new state. */
  async cancel(owner: string, responseId: string): Promise<ResponseObject> {
    const stored = await this.find(owner, responseId);
    if (!stored.settings.background) throw new TalariaError('response_not_background');
    const run = await this.#options.journal.getRun(stored.runId);
    const isActive = ACTIVE.has((await this.get(owner, responseId)).status);
    if (isActive && run !== undefined && !isTerminalStatus(run.state.status)) await this.#stop(run);
    const response = await this.get(owner, responseId);
    if (response.status === 'cancelled' || response.status === 'in_progress') return response;
    throw new TalariaError('response_not_active', {
      message: `The response has already finished; it is ${response.status}`,
    });
  }

  async find(owner: string, responseId: string): Promise<StoredResponse> {
    const known = isResponseId(responseId);
    const stored = known ? await this.#options.journal.responses.get(owner, responseId) : undefined;
    if (stored === undefined) throw notFound(responseId);
    return stored;
  }

  async #stop({ owner, runId, nextSeq }: StoredRun): Promise<void> {
    try {
      await this.#options.engine.stop(owner, runId);
    } catch (error) {
      // It has ended meanwhile; the response shows how.
      if (error instanceof TalariaError && error.code === 'run_not_active') return;
      throw error;
    }
    await this.#endOf(runId, nextSeq - 1);
  }

  /** Resolves when the run has ended, or after a while. */
  async #endOf(runId: string, seenSeq: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, CANCEL_WAIT_MS);
    const detach = this.#options.engine.subscribe(runId, seenSeq, {
      deliver: (batch) => {
        if (isTerminalEvent(batch.at(-1)!.event)) resolve();
      },
      fail: () => resolve(),
    });
    await promise;
    clearTimeout(timer);
    detach();
  }
}

export function headOf(
  { run_id, session_id, created_at }: Run,
  settings: ResponseSettings,
  afterSeq = -1,
): ResponseHead {
  return {
    responseId: responseIdOf(run_id, afterSeq),
    runId: run_id,
    afterSeq,
    sessionId: session_id,
    createdAt: created_at * 1000,
    settings,
  };
}

function snapshotOf({ snapshot }: StoredResponse): ResponseObject | undefined {
  return snapshot === null ? undefined : (JSON.parse(snapshot) as ResponseObject);
}

function notFound(responseId: string): TalariaError {
  return new TalariaError('response_not_found', { message: `Response not found: ${responseId}` });
}
