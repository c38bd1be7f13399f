/**
 * What the rest of the server can do with runs. It holds no state of a run: every answer comes from the journal,
 * so any process on the same store gives the same answer.
 */
import {
  type ApprovalAnswer,
  type CreateRun,
  createRunId,
  type ForkRun,
  type HistoryMessage,
  isRunId,
  isTerminalStatus,
  MODEL_SETTING_NAMES,
  type ModelSettingName,
  type ModelSettings,
  type OutputForm,
  type Run,
  type RunApprovalResponse,
  type RunCall,
  type RunCreated,
  type RunList,
  type RunToolOutputs,
  TalariaError,
  type ToolOutput,
  toResponseId,
  type WebhookRequest,
} from '@talaria/protocol';
import type { WorkspaceReader, WorkspaceWriter } from '@talaria/sandbox';
import { schemaProblem } from '../agent/output-form.ts';
import { failpoint } from '../basics/failpoints.ts';
import type { Checkpoints } from '../checkpoints/checkpoint-tree.ts';
import { Feeds, type Subscriber } from '../journal/feeds.ts';
import type { StoredJob } from '../journal/jobs.ts';
import type {
  CreateLimits,
  CreateOutcome,
  IdempotencyKey,
  Journal,
  NewRun,
  QueueDepth,
  RunFilter,
  RunPage,
} from '../journal/journal.ts';
import { type OutboxCounts, toWireWebhook, type Webhook } from '../journal/outbox.ts';
import type { Place } from '../journal/peers.ts';
import type { LogRecord, RunRequest, RunTerms } from '../journal/records.ts';
import type { NewResponse } from '../journal/responses.ts';
import { type StoredRun, toWireHead, toWireRun } from '../journal/run-state.ts';
import { withSessionPrompt } from '../journal/run-terms.ts';
import type { SessionRange } from '../journal/sessions.ts';
import type { Secrets } from '../secrets/secrets.ts';
import type { ResolveRequest } from '../setup/resolve-workspace.ts';
import { noReport, type Report } from '../telemetry/facts.ts';
import { ApprovalLists } from './approval-lists.ts';
import { type CopiedContext, copyReach } from './context-reach.ts';
import { hashJson } from './hash-json.ts';
import type { QueuePace } from './pace.ts';
import { RunCheckpoints } from './run-checkpoints.ts';
import { RunFeed } from './run-feed.ts';
import { RunForks } from './run-forks.ts';
import { NO_WORK, type Workload } from './run-work.ts';
import { SessionAccess } from './session-access.ts';
import { shownInput } from './shown-input.ts';
import { findCall, isAbout } from './tool-call.ts';

/**
 * A page of runs is built in memory, with outputs: it ends after this many characters, long before 200 long outputs.
 */
const LIST_CHARS_MAX = 4_000_000;
/** How many reads a page of a search may take; each read covers some hundred runs. */
const SEARCH_READS = 10;
/** How many records of a log are read at a time. */
const LOG_CHARS = 1_000_000;

/** Opens the workspace that a run has in this process; undefined for a run without one. */
export type OpenWorkspace = (runId: string) => Promise<WorkspaceReader | undefined>;

/**
 * For writing into the workspace of a run in this process, which a run that is worked on here gets now if it has none;
 * undefined for a run without one.
 */
export type OpenWriter = (runId: string) => Promise<WorkspaceWriter | undefined>;

export function requireWriter(writer: WorkspaceWriter | undefined): WorkspaceWriter {
  if (writer !== undefined) return writer;
  throw new TalariaError('workspace_not_ready', { retryAfterS: 1 });
}

/** On this server or on another one; `reader` is undefined for a run that has no files yet. */
export type FoundWorkspace = { reader: WorkspaceReader | undefined } | { place: Place };

export interface EngineOptions {
  journal: Journal;
  /** The agent name that runs are shown with. */
  modelName: string;
  maxQueuedRuns: number;
  /** How many API keys share the queue. */
  owners: number;
  /** How many tokens of earlier messages a run gets, by estimate; 0 means all. */
  contextTokens: number;
  /** Masks a text that is shown. */
  secrets: Secrets;
  openWorkspace: OpenWorkspace;
  openWriter: OpenWriter;
  /** The server that has the files of the run; undefined if this server has them, or nobody has yet. */
  findElsewhere?(runId: string): Promise<Place | undefined>;
  /** Undefined if the files of runs are not kept step by step. */
  checkpoints?: Checkpoints | undefined;
  /** Which model settings clients may set. */
  clientSettings?: readonly ModelSettingName[];
  resolveRequest: ResolveRequest;
  /** The webhook for a run that asks for this one; throws if it is not allowed. */
  chooseWebhook(request: WebhookRequest | null | undefined): Webhook | undefined;
  /** How fast runs leave the queue. */
  pace: QueuePace;
  /** The work of this process; none by default. */
  work?: Workload | undefined;
  report?: Report;
}

export interface ListRuns extends Omit<RunFilter, 'owner' | 'maxChars'> {
  /** Without the answers. */
  headsOnly?: boolean | undefined;
}

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

export interface Idempotency {
  key: string;
  /** Two requests with this key are the same if this value is the same. */
  body: unknown;
  /** How long the key stands for its run after the run has ended; a day by default. */
  keptMs?: number | undefined;
}

export interface Load extends QueueDepth, Omit<Workload, 'room'> {
  maxQueued: number;
  subscribers: number;
  /** Webhook messages: not yet delivered, and recently given up. */
  webhooks: OutboxCounts;
}

export class Engine {
  readonly sessions: SessionAccess;
  readonly approvals: ApprovalLists;
  readonly feed: RunFeed;
  readonly #options: EngineOptions;
  readonly #journal: Journal;
  readonly #report: Report;
  readonly #feeds: Feeds;
  readonly #forks: RunForks;
  readonly #work: Workload;
  #draining = false;

  constructor(options: EngineOptions) {
    const { journal, secrets, work = NO_WORK, report = noReport } = options;
    this.#options = options;
    this.#report = report;
    this.#journal = journal;
    this.#work = work;
    this.sessions = new SessionAccess({
      sessions: journal.sessions,
      secrets,
      modelName: options.modelName,
    });
    this.approvals = new ApprovalLists(journal, options.modelName);
    this.feed = new RunFeed(journal.changes, options.modelName);
    this.#feeds = new Feeds(journal);
    this.#forks = new RunForks({
      journal,
      contextTokens: options.contextTokens,
      mask: secrets.mask,
      resolveRequest: options.resolveRequest,
      checkpoints: options.checkpoints,
    });
  }

  get keepsCheckpoints(): boolean {
    return this.#options.checkpoints !== undefined;
  }

  /** Whether the server is shutting down, so that clients should start their runs elsewhere. */
  get draining(): boolean {
    return this.#draining;
  }

  beginDraining(): void {
    this.#draining = true;
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
      sessionId === undefined ? undefined : await this.sessions.systemPrompt(owner, sessionId);
    const accepted = {
      ...toRunRequest(await this.#withContext(owner, request)),
      ...this.terms(request, sessionPrompt),
      ...(sessionPrompt === undefined ? {} : { session_prompt: sessionPrompt }),
      ...(workspace === undefined ? {} : { workspace: workspace.setup }),
      shown_input: shownInput(request.prompt, this.#options.secrets.mask),
    };
    const created = await this.#accept({
      runId,
      owner,
      sessionId: request.sessionId ?? runId,
      request: { ...accepted, ...(traceparent === undefined ? {} : { traceparent }) },
      response: response && { ...response, responseId: toResponseId(runId) },
      idempotency: idempotency && toKey(idempotency),
      webhook: this.#options.chooseWebhook(request.webhook),
      blobs: workspace?.blobs,
    });
    if (request.inline === true && !created.replayed) await this.#stopAbandoned(owner, request.sessionId);
    return created;
  }

  /**
   * A new run that continues from an event of this one; see run-forks.ts. The same key returns the same fork even if the
   * run could no longer be forked like this, because it has gone on since.
   */
  async fork(
    owner: string,
    sourceId: string,
    asked: ForkRun,
    idempotency?: Idempotency,
    traceparent?: string,
  ): Promise<RunCreated> {
    const source = await this.#find(owner, sourceId);
    const key = idempotency && toKey(idempotency);
    const runId = createRunId();
    try {
      const { request, ...prepared } = await this.#forks.prepare(source, asked);
      return await this.#accept({
        ...prepared,
        runId,
        owner,
        sessionId: runId,
        request: { ...request, ...(traceparent === undefined ? {} : { traceparent }) },
        idempotency: key,
        webhook: this.#options.chooseWebhook(undefined),
      });
    } catch (error) {
      const known = key && (await this.#journal.findKey(owner, key.key));
      if (known === undefined || known.bodyHash !== key?.bodyHash) throw toForkRefusal(error, source);
      return { run_id: known.runId, status: known.status, replayed: true };
    }
  }

  /**
   * A `StartJobRun`. Each run has a session of its own; for a job without a prompt, the name of the job is the prompt.
   */
  readonly startJobRun = async (job: StoredJob, nextRunAt?: number | null): Promise<string | undefined> => {
    const { jobId, version, owner, name, prompt } = job;
    const runId = createRunId();
    const told = prompt.trim() === '' ? name : prompt;
    const outcome = await this.#create({
      runId,
      owner,
      sessionId: runId,
      request: {
        prompt: told,
        shown_input: shownInput(told, this.#options.secrets.mask),
        session_named: false,
      },
      webhook: this.#options.chooseWebhook(undefined),
      job: { jobId, version, nextRunAt },
    });
    if (outcome.kind === 'queue_full') throw this.#queueFull(outcome.excess);
    return outcome.kind === 'created' ? runId : undefined;
  };

  async get(owner: string, runId: string): Promise<Run> {
    const run = toWireRun(await this.#find(owner, runId), this.#options.modelName);
    const webhook = await this.#journal.outbox.state(runId);
    return webhook === undefined ? run : { ...run, webhook: toWireWebhook(webhook) };
  }

  /** The run without its answer, also if it is evicted. */
  async getHead(owner: string, runId: string): Promise<Run> {
    const run = isRunId(runId) ? await this.#journal.heads.get(runId) : undefined;
    return toWireHead(expectOwn(run, owner, runId), this.#options.modelName);
  }

  async list(owner: string, { headsOnly = false, ...filter }: ListRuns): Promise<RunList> {
    const { runs, next } = await this.#page({ ...filter, owner, maxChars: LIST_CHARS_MAX });
    const { modelName } = this.#options;
    return {
      object: 'list',
      data: runs.map((run) => (headsOnly ? toWireHead(run, modelName) : toWireRun(run, modelName))),
      has_more: next !== undefined,
      next_cursor: next ?? null,
    };
  }

  /** A search takes several short reads, so that nobody else waits for it, and ends with what it has found by then. */
  async #page(filter: RunFilter): Promise<RunPage> {
    let { runs, next } = await this.#journal.listRuns(filter);
    if (filter.words === undefined) return { runs, next };
    for (let reads = 1; next !== undefined && runs.length < filter.limit && reads < SEARCH_READS; reads++) {
      const more = await this.#journal.listRuns({
        ...filter,
        limit: filter.limit - runs.length,
        after: next,
      });
      runs = [...runs, ...more.runs];
      next = more.next;
    }
    return { runs, next };
  }

  /**
   * One tool call of the run, with all its fields. The log is read in parts: it may be long, and a call is a small part
   * of it.
   */
  async getCall(owner: string, runId: string, callId: string): Promise<RunCall> {
    await this.#find(owner, runId);
    const about: LogRecord[] = [];
    for (let after = -1; ; ) {
      const records = await this.#journal.readLog(runId, after, LOG_CHARS);
      const last = records.at(-1);
      if (last === undefined) break;
      about.push(...records.filter((record) => isAbout(callId, record)));
      after = last.pos;
    }
    const call = findCall(runId, callId, about, this.#options.secrets.mask);
    if (call === undefined) throw new TalariaError('call_not_found');
    return call;
  }

  async stop(owner: string, runId: string): Promise<void> {
    await this.#find(owner, runId);
    await this.#journal.post(runId, { kind: 'stop' });
  }

  async steer(owner: string, runId: string, input: string): Promise<void> {
    await this.#find(owner, runId);
    await this.#journal.post(runId, { kind: 'steer', input });
  }

  /**
   * Stores the outputs of client tool calls; resolves with how many of these outputs the run has. Sending the same
   * output again changes nothing, even long after the run has used it: a client that missed the success may repeat
   * itself.
   */
  async answerCalls(
    owner: string,
    runId: string,
    outputs: readonly ToolOutput[],
    terms?: RunTerms,
  ): Promise<RunToolOutputs> {
    await this.#find(owner, runId);
    const answer = (some: readonly ToolOutput[]) =>
      this.#journal.post(runId, { kind: 'tool_outputs', outputs: some, terms });
    try {
      await answer(outputs);
    } catch (error) {
      if (!(error instanceof TalariaError) || error.code !== 'call_not_pending') throw error;
      const fresh = await this.#withoutKnown(runId, outputs);
      if (fresh.length === outputs.length) throw error;
      if (fresh.length > 0) await answer(fresh);
    }
    return { object: 'hermes.run.tool_outputs', run_id: runId, accepted: outputs.length };
  }

  /** Without the outputs that the run already has, word for word. */
  async #withoutKnown(runId: string, outputs: readonly ToolOutput[]): Promise<ToolOutput[]> {
    const given = new Set<string>();
    for (const record of await this.#journal.readPosted(runId, -1)) {
      if (record.event !== 'tool.answered') continue;
      const { tool_call_id, output, error } = record.private;
      given.add(JSON.stringify([tool_call_id, output, error]));
    }
    return outputs.filter(
      ({ toolCallId, output, error }) => !given.has(JSON.stringify([toolCallId, output, error])),
    );
  }

  async answerApproval(owner: string, runId: string, answer: ApprovalAnswer): Promise<RunApprovalResponse> {
    await this.#find(owner, runId);
    const { choice, requestId, all, message } = answer;
    const [record] = await this.#journal.post(runId, {
      kind: 'approval',
      choice,
      requestId,
      all,
      message: message === undefined ? undefined : this.#options.secrets.mask(message),
      by: owner,
    });
    if (record?.event !== 'approval.responded') throw new TalariaError('approval_not_pending');
    return {
      object: 'hermes.run.approval_response',
      run_id: runId,
      choice: record.public.choice,
      resolved: record.public.resolved,
      request_id: record.public.request_id,
    };
  }

  /** Where the files of a run are, for as long as the run is kept. */
  async findWorkspace(owner: string, runId: string): Promise<FoundWorkspace> {
    const { openWorkspace, findElsewhere } = this.#options;
    await this.#find(owner, runId);
    const place = await findElsewhere?.(runId);
    return place === undefined ? { reader: await openWorkspace(runId) } : { place };
  }

  /** The same for writing. A run that is not worked on gets no workspace by it. */
  async findWriter(owner: string, runId: string): Promise<{ writer: WorkspaceWriter } | { place: Place }> {
    const { openWriter, findElsewhere } = this.#options;
    const run = await this.#find(owner, runId);
    const place = await findElsewhere?.(runId);
    if (place !== undefined) return { place };
    const writer = await openWriter(runId);
    if (writer === undefined && isTerminalStatus(run.state.status)) {
      throw new TalariaError('artifact_not_found', { message: 'The run ended without a workspace' });
    }
    return { writer: requireWriter(writer) };
  }

  /** The files of a run as they were, wherever they are now. */
  async findCheckpoints(owner: string, runId: string): Promise<RunCheckpoints> {
    return new RunCheckpoints(await this.#find(owner, runId), this.#options.checkpoints);
  }

  /**
   * Throws unless the run exists, belongs to the owner, and has reached the cursor; returns whether any events are left
   * to deliver.
   */
  async checkCursor(owner: string, runId: string, afterSeq: number): Promise<{ ended: boolean }> {
    const run = await this.#find(owner, runId);
    if (afterSeq >= run.nextSeq) {
      throw new TalariaError('invalid_cursor', {
        message: `The cursor ${afterSeq} is beyond the last event of the run, which is ${run.nextSeq - 1}`,
        param: 'last_event_id',
      });
    }
    return { ended: isTerminalStatus(run.state.status) && afterSeq === run.nextSeq - 1 };
  }

  /** Delivers the run's events after the cursor, then live ones; call `checkCursor` first. */
  subscribe(runId: string, afterSeq: number, subscriber: Subscriber): () => void {
    return this.#feeds.attach(runId, afterSeq, subscriber);
  }

  async load(): Promise<Load> {
    const { active, maxActive, waitingForApproval } = this.#work;
    return {
      ...(await this.#journal.queueDepth()),
      maxQueued: this.#options.maxQueuedRuns,
      active,
      maxActive,
      waitingForApproval,
      subscribers: this.#feeds.size + this.feed.size,
      webhooks: await this.#journal.outbox.counts(),
    };
  }

  /**
   * The terms of a client's request as a run stores them: the session's prompt comes before the request's instructions.
   * Throws for an output format that no answer can be checked against.
   */
  terms(asked: AskedTerms, sessionPrompt: string | undefined): RunTerms {
    const { instructions: own, clientTools, outputForm } = asked;
    checkForm(outputForm);
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
    const { runs } = await this.#journal.listRuns({
      owner,
      sessionId,
      statuses: ['waiting_for_tool'],
      limit: 1,
      maxChars: LIST_CHARS_MAX,
    });
    for (const { runId, state } of runs) {
      const [accepted] = await this.#journal.readLog(runId, -1, 1);
      const isInline = accepted?.event === 'run.accepted' && accepted.private.inline === true;
      if (!isInline || state.last_event !== 'run.waiting') continue;
      await this.#journal.post(runId, { kind: 'stop' }).catch((error: unknown) => {
        if (!(error instanceof TalariaError) || error.code !== 'run_not_active') throw error;
      });
    }
  }

  #queueFull(excess: number): TalariaError {
    return new TalariaError('rate_limit_exceeded', { retryAfterS: this.#options.pace.retryAfterS(excess) });
  }

  /** For a run without a job. */
  async #accept(run: NewRun): Promise<RunCreated> {
    const outcome = await this.#create(run);
    switch (outcome.kind) {
      case 'created':
        return { run_id: run.runId, status: 'started', replayed: false };
      case 'replayed':
        return { run_id: outcome.runId, status: outcome.status, replayed: true };
      case 'conflict':
        throw new TalariaError('idempotency_key_conflict');
      case 'queue_full':
        throw this.#queueFull(outcome.excess);
      case 'job_changed':
        throw new Error('A run without a job was refused because of its job');
    }
  }

  async #create(run: NewRun): Promise<CreateOutcome> {
    const outcome = await this.#journal.createRun(run, this.#createLimits());
    failpoint('run.after-create');
    this.#report({ fact: 'run.submitted', outcome: outcome.kind });
    return outcome;
  }

  /**
   * The session that a run is in, or that it continues without being in it. A response may continue in a fork, which
   * gets its name by then.
   */
  async #sessionOf(owner: string, { sessionId, context, response }: Submission): Promise<string | undefined> {
    const previous = response?.previous;
    if (previous === undefined) return sessionId ?? context?.sessionId;
    return (await this.#journal.responses.get(owner, previous))?.sessionId;
  }

  /** Adds a copy of earlier messages from outside the run's session. An unknown response id is ignored. */
  async #withContext(owner: string, { context: said, ...request }: Submission): Promise<CompleteSubmission> {
    const { history, leadIn, previousResponseId, maxContextMessages } = request;
    if (said !== undefined) return { ...request, copied: await this.#copy(owner, said, maxContextMessages) };
    if (history !== undefined || previousResponseId === undefined) return request;
    try {
      const previous = await this.#journal.responses.context(owner, previousResponseId);
      return { ...request, copied: await this.#copy(owner, previous) };
    } catch (error) {
      if (!(error instanceof TalariaError) || error.code === 'store_unavailable') throw error;
      return { ...request, history: leadIn, leadIn: undefined };
    }
  }

  #copy(owner: string, { sessionId, ...said }: SessionRange, maxMessages?: number): Promise<CopiedContext> {
    const limits = { maxTokens: this.#options.contextTokens, maxMessages };
    return copyReach(said, limits, (range) => this.#journal.sessions.messages(owner, sessionId, range));
  }

  #createLimits(): CreateLimits {
    const { maxQueuedRuns, owners } = this.#options;
    return {
      // A run that a free worker is about to take is in the queue for a moment, but does not wait. So a burst may
      // exceed the limit by the number of free workers: better than to refuse a run that a worker is free for.
      maxQueued: maxQueuedRuns + this.#work.room,
      ownerShare: Math.ceil(maxQueuedRuns / owners),
    };
  }

  async #find(owner: string, runId: string): Promise<StoredRun> {
    return expectOwn(isRunId(runId) ? await this.#journal.getRun(runId) : undefined, owner, runId);
  }
}

function toKey({ key, body, keptMs }: Idempotency): IdempotencyKey {
  return { key, bodyHash: hashJson(body), keptMs };
}

/** The session of the other run was deleted, and with it the conversation before that run. */
function toForkRefusal(error: unknown, { sessionId }: StoredRun): unknown {
  if (!(error instanceof TalariaError) || error.code !== 'session_not_found') return error;
  const message = `What was said before the run is gone: the session '${sessionId}' was deleted`;
  return new TalariaError('checkpoint_gone', { message });
}

/** Another owner's run must look exactly like one that does not exist. */
function expectOwn(run: StoredRun | undefined, owner: string, runId: string): StoredRun {
  if (run !== undefined && run.owner === owner) return run;
  throw new TalariaError('run_not_found', { message: `Run not found: ${runId}` });
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
function checkForm(form: OutputForm | undefined): void {
  const problem = form?.schema === undefined ? undefined : schemaProblem(form.schema);
  if (problem === undefined) return;
  throw new TalariaError('invalid_output_schema', { message: `The schema cannot be used: ${problem}` });
}
