/** Turns what clients ask for, in any dialect, into runs. */
import {
  type ClientTools,
  type CreateRun,
  createRunId,
  type HistoryMessage,
  MODEL_SETTING_NAMES,
  type ModelSettingName,
  type ModelSettings,
  type OutputForm,
  type RunCreated,
  TalariaError,
  toResponseId,
  type WebhookRequest,
} from '@talaria/protocol';
import { schemaProblem, toolProblem } from '../agent/schema-thread.ts';
import type { Journal, NewRun } from '../journal/journal.ts';
import type { Webhook } from '../journal/outbox.ts';
import type { RunRequest, RunTerms } from '../journal/records.ts';
import type { NewResponse } from '../journal/responses.ts';
import { withSessionPrompt } from '../journal/run-terms.ts';
import type { SessionRange } from '../journal/sessions.ts';
import type { ResolveRequest } from '../setup/resolve-workspace.ts';
import { type CopiedContext, copyReach } from './context-reach.ts';
import { type Idempotency, type RunCreation, toKey } from './run-creation.ts';
import { LIST_CHARS_MAX } from './run-lists.ts';
import type { SessionAccess } from './session-access.ts';
import { shownInput } from './shown-input.ts';

/** A run to submit, from any dialect. */
export interface Submission extends CreateRun {
  /** Earlier messages, where the run is not in the session: the run gets a copy of them. */
  context?: SessionRange | undefined;
  /** The maximum number of earlier messages that the run gets. */
  maxContextMessages?: number | undefined;
  /** Messages and calls after the prompt. */
  followUp?: HistoryMessage[] | undefined;
  /** The run answers a request that waits for it. */
  inline?: boolean | undefined;
  /** The run is a stored response; then it has a session. */
  response?: Omit<NewResponse, 'responseId'> | undefined;
}

/** The terms on which a client wants its run done. */
export type AskedTerms = Pick<Submission, 'instructions' | 'clientTools' | 'outputForm' | 'settings'>;

/** The submission with its context copied, ready to be recorded. */
interface CompleteSubmission extends Omit<Submission, 'context'> {
  copied?: CopiedContext;
}

export interface SubmissionsOptions {
  journal: Journal;
  sessions: SessionAccess;
  creation: RunCreation;
  /** How many tokens of earlier messages a run gets, by estimate; 0 means all. */
  contextTokens: number;
  /** Masks a text that is shown. */
  mask(text: string): string;
  /** Which model settings clients may set. */
  clientSettings?: readonly ModelSettingName[] | undefined;
  resolveRequest: ResolveRequest;
  /** The webhook for a run that asks for this one; throws if it is not allowed. */
  chooseWebhook(request: WebhookRequest | null | undefined): Webhook | undefined;
}

export class Submissions {
  readonly #options: SubmissionsOptions;

  constructor(options: SubmissionsOptions) {
    this.#options = options;
  }

  /** `traceparent`: the trace that the run belongs to, in W3C form. */
  async submit(
    owner: string,
    asked: Submission,
    idempotency?: Idempotency,
    traceparent?: string,
  ): Promise<RunCreated> {
    const { request, workspace } = await this.#options.resolveRequest(owner, asked);
    const runId = createRunId();
    const { response } = request;
    const sessionId = await this.#sessionOf(owner, request);
    const sessionPrompt =
      sessionId === undefined ? undefined : await this.#options.sessions.systemPrompt(owner, sessionId);
    const accepted = {
      ...toRunRequest(await this.#withContext(owner, request)),
      ...(await this.terms(owner, request, sessionPrompt)),
      ...(sessionPrompt === undefined ? {} : { session_prompt: sessionPrompt }),
      ...(workspace === undefined ? {} : { workspace: workspace.setup }),
      shown_input: shownInput(request.prompt, this.#options.mask),
    };
    const run = {
      runId,
      owner,
      sessionId: request.sessionId ?? runId,
      request: { ...accepted, ...(traceparent === undefined ? {} : { traceparent }) },
      idempotency: idempotency && toKey(idempotency),
      webhook: this.#options.chooseWebhook(request.webhook),
      blobs: workspace?.blobs,
    };
    const created = await this.#accept(run, response);
    if (request.inline === true && !created.replayed) await this.#stopAbandoned(owner, request.sessionId);
    return created;
  }

  /** A response that needs a fork of the session gets the files of the moment that it continues from, while they are kept. */
  async #accept(run: Omit<NewRun, 'response'>, response: Submission['response']): Promise<RunCreated> {
    const { creation, sessions } = this.#options;
    if (response === undefined) return creation.accept(run);
    const { previous } = response;
    const forkedFiles =
      previous === undefined ? undefined : await sessions.filesAfterResponse(run.owner, previous);
    const stored = { ...response, responseId: toResponseId(run.runId) };
    try {
      return await creation.accept({ ...run, response: { ...stored, forkedFiles } });
    } catch (error) {
      // The run that had the files was evicted meanwhile.
      const isGone = error instanceof TalariaError && error.code === 'run_not_found';
      if (!isGone || !forkedFiles) throw error;
      return creation.accept({ ...run, response: stored });
    }
  }

  /**
   * The terms of a client's request as a run stores them: the session's prompt comes before the request's instructions.
   * Throws for an output format that no answer can be checked against, and for tools that no model can call.
   */
  async terms(owner: string, asked: AskedTerms, sessionPrompt: string | undefined): Promise<RunTerms> {
    const { instructions: own, clientTools, outputForm } = asked;
    await checkForm(owner, outputForm);
    await checkTools(owner, clientTools);
    const settings = this.allowedSettings(asked.settings);
    const instructions = withSessionPrompt(sessionPrompt, own);
    return {
      ...(instructions === undefined ? {} : { instructions }),
      ...(clientTools === undefined ? {} : { client_tools: clientTools }),
      ...(outputForm === undefined ? {} : { output_form: outputForm }),
      ...(settings === undefined ? {} : { settings }),
    };
  }

  /** The settings that clients may set here; undefined when none is left. */
  allowedSettings(settings: ModelSettings = {}): ModelSettings | undefined {
    const { clientSettings = MODEL_SETTING_NAMES } = this.#options;
    const allowed = Object.entries(settings).filter(([name]) =>
      (clientSettings as readonly string[]).includes(name),
    );
    return allowed.length === 0 ? undefined : Object.fromEntries(allowed);
  }

  /**
   * A chat that sends a new message in its session instead of the outputs of its tools will not send them any more. The
   * run that waits for them would block the session's next run until its timeout.
   */
  async #stopAbandoned(owner: string, sessionId: string | undefined): Promise<void> {
    if (sessionId === undefined) return;
    const { runs } = await this.#options.journal.listRuns({
      owner,
      sessionId,
      statuses: ['waiting_for_tool'],
      limit: 1,
      maxChars: LIST_CHARS_MAX,
    });
    for (const { runId, state } of runs) {
      const [accepted] = await this.#options.journal.readLog(runId, -1, 1);
      const isInline = accepted?.event === 'run.accepted' && accepted.private.inline === true;
      if (!isInline || state.last_event !== 'run.waiting') continue;
      await this.#options.journal.post(runId, { kind: 'stop' }).catch((error: unknown) => {
        if (!(error instanceof TalariaError) || error.code !== 'run_not_active') throw error;
      });
    }
  }

  /**
   * The session that a run is in, or that it continues without being in it. A response may continue in a fork, which
   * gets its name by then.
   */
  async #sessionOf(owner: string, { sessionId, context, response }: Submission): Promise<string | undefined> {
    const previous = response?.previous;
    if (previous === undefined) return sessionId ?? context?.sessionId;
    return (await this.#options.journal.responses.get(owner, previous))?.sessionId;
  }

  /** Adds a copy of earlier messages from outside the run's session. An unknown response id is ignored. */
  async #withContext(owner: string, { context: said, ...request }: Submission): Promise<CompleteSubmission> {
    const { history, leadIn, previousResponseId, maxContextMessages } = request;
    if (said !== undefined) return { ...request, copied: await this.#copy(owner, said, maxContextMessages) };
    if (history !== undefined || previousResponseId === undefined) return request;
    try {
      const previous = await this.#options.journal.responses.context(owner, previousResponseId);
      return { ...request, copied: await this.#copy(owner, previous) };
    } catch (error) {
      if (!(error instanceof TalariaError) || error.code === 'store_unavailable') throw error;
      return { ...request, history: leadIn, leadIn: undefined };
    }
  }

  #copy(owner: string, { sessionId, ...said }: SessionRange, maxMessages?: number): Promise<CopiedContext> {
    const limits = { maxTokens: this.#options.contextTokens, maxMessages };
    return copyReach(said, limits, (range) =>
      this.#options.journal.sessions.messages(owner, sessionId, range),
    );
  }
}

/** The request without its terms. */
function toRunRequest(submission: CompleteSubmission): RunRequest {
  const { prompt, history, leadIn, copied, maxContextMessages, sessionId, inline, followUp } = submission;
  return {
    prompt,
    session_named: sessionId !== undefined,
    ...(copied === undefined ? {} : { context: copied.messages, skipped: copied.skipped }),
    ...(maxContextMessages === undefined ? {} : { max_context_messages: maxContextMessages }),
    ...(history === undefined ? {} : { history }),
    ...(leadIn === undefined ? {} : { lead_in: leadIn }),
    ...(followUp === undefined ? {} : { follow_up: followUp }),
    ...(inline === true ? { inline } : {}),
  };
}

/** A schema that nothing can be checked against would otherwise fail only after the run has done its work. */
async function checkForm(owner: string, form: OutputForm | undefined): Promise<void> {
  const problem = form?.schema === undefined ? undefined : await schemaProblem(owner, form.schema);
  if (problem === undefined) return;
  throw new TalariaError('invalid_output_schema', { message: `The schema cannot be used: ${problem}` });
}

/** Otherwise the provider would refuse them, in its own words and only when the run works. */
async function checkTools(owner: string, given: ClientTools | undefined): Promise<void> {
  const message = given === undefined ? undefined : await toolProblem(owner, given.tools);
  if (message !== undefined) throw new TalariaError('invalid_tools', { message, param: 'tools' });
}
