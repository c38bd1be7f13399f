/**
 * Responses as runs: what `/v1/responses` can do. A response is a run with another name; whatever is known of it is read
 * from its run's log, or from the snapshot that is left when the run was evicted.
 */
import {
  type CreateResponse,
  createId,
  isResponseId,
  isTerminalEvent,
  isTerminalStatus,
  type ResponseObject,
  type Run,
  type RunCreated,
  TalariaError,
  TRUNCATION_AUTO_MESSAGES,
  toResponseId,
} from '@talaria/protocol';
import type { Engine, Idempotency } from '../engine/engine.ts';
import type { Journal } from '../journal/journal.ts';
import type { ResponseSettings, StoredResponse } from '../journal/responses.ts';
import type { StoredRun } from '../journal/run-state.ts';
import type { SessionRange } from '../journal/sessions.ts';
import type { Masking } from './masking.ts';
import { ResponseFold } from './response-fold.ts';
import { readResponse } from './response-log.ts';
import type { ResponseHead } from './response-object.ts';

/** A stop takes effect within five seconds; whoever asked for it is not kept waiting for longer. */
const CANCEL_WAIT_MS = 5_000;

export interface ResponseRunsOptions {
  engine: Engine;
  journal: Journal;
  masking: Masking;
  modelName: string;
  /** How many are kept of each API key. */
  maxStored: number;
}

export interface SubmitOptions {
  /** Where it is said, if neither a conversation nor a response to go on from says so. */
  sessionId: string | undefined;
  idempotency: Idempotency | undefined;
  traceparent: string | undefined;
}

export class ResponseRuns {
  readonly #options: ResponseRunsOptions;

  constructor(options: ResponseRunsOptions) {
    this.#options = options;
  }

  /** Where the log of a run is read, for its events. */
  get journal(): Pick<Journal, 'readLog' | 'readEvents'> {
    return this.#options.journal;
  }

  async submit(owner: string, request: CreateResponse, options: SubmitOptions): Promise<RunCreated> {
    const { engine, maxStored } = this.#options;
    const { prompt, instructions, conversation, previousResponseId: previous, store } = request;
    const { idempotency, traceparent } = options;
    const max = request.truncation === 'auto' ? TRUNCATION_AUTO_MESSAGES : undefined;
    const history = max === undefined ? request.history : request.history?.slice(-max);
    const leadIn = max === undefined ? request.leadIn : request.leadIn?.slice(-max);
    const maxContextMessages = max === undefined ? undefined : max - (leadIn?.length ?? 0);
    const run = { prompt, history, leadIn, instructions, maxContextMessages, previousResponseId: undefined };
    const named = previous === undefined ? (conversation ?? options.sessionId) : undefined;
    if (store) {
      const response = { settings: this.settings(request), previous, maxStored };
      const submission = { ...run, sessionId: named ?? createId('sess'), response };
      return engine.submit(owner, submission, idempotency, traceparent);
    }
    // Nothing is to be left of it but the run itself, so it is not in the session it goes on from.
    const context = history === undefined ? await this.#contextOf(owner, previous, named) : undefined;
    return engine.submit(owner, { ...run, sessionId: undefined, context }, idempotency, traceparent);
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

  settings(request: CreateResponse): ResponseSettings {
    const { previousResponseId, conversation, instructions, metadata, truncation, background, store } =
      request;
    return {
      model: request.model ?? this.#options.modelName,
      previous_response_id: previousResponseId ?? null,
      conversation: conversation ?? null,
      instructions: instructions ?? null,
      metadata,
      truncation,
      background,
      store,
    };
  }

  /** The response the run is, as it is now. */
  read(run: Run, settings: ResponseSettings): Promise<ResponseObject> {
    return this.#read(headOf(run, settings));
  }

  fold(run: Run, settings: ResponseSettings): ResponseFold {
    return new ResponseFold(headOf(run, settings), this.#options.masking);
  }

  async get(owner: string, responseId: string): Promise<ResponseObject> {
    const stored = await this.find(owner, responseId);
    return snapshotOf(stored) ?? (await this.#read(stored));
  }

  async delete(owner: string, responseId: string): Promise<void> {
    await this.find(owner, responseId);
    await this.#options.journal.responses.delete(owner, responseId);
  }

  /** Stops a response that works in the background, and gives it as it is then. */
  async cancel(owner: string, responseId: string): Promise<ResponseObject> {
    const stored = await this.find(owner, responseId);
    if (!stored.settings.background) throw new TalariaError('response_not_background');
    const run = await this.#options.journal.getRun(stored.runId);
    if (run !== undefined && !isTerminalStatus(run.state.status)) await this.#stop(run);
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

  async #read(head: ResponseHead): Promise<ResponseObject> {
    const { journal, masking } = this.#options;
    const response = await readResponse(journal, head, masking);
    if (response !== undefined) return response;
    // Evicted just now: a stored one has left a snapshot.
    const responses = await journal.responses.ofRun(head.runId);
    const stored = responses.find(({ responseId }) => responseId === head.responseId);
    const kept = stored && snapshotOf(stored);
    if (kept === undefined) throw notFound(head.responseId);
    return kept;
  }

  async #stop({ owner, runId, nextSeq }: StoredRun): Promise<void> {
    try {
      await this.#options.engine.stop(owner, runId);
    } catch (error) {
      // It has ended meanwhile; how, is seen from the response.
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

function headOf({ run_id, session_id, created_at }: Run, settings: ResponseSettings): ResponseHead {
  return {
    responseId: toResponseId(run_id),
    runId: run_id,
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
