/**
 * What the rest of the server can do with runs. It holds no state of a run: every answer comes from the journal,
 * so any process on the same store gives the same answer.
 */
import {
  type ApprovalAnswer,
  isRunId,
  isTerminalStatus,
  type Run,
  type RunApprovalResponse,
  type RunCall,
  type RunQueue,
  type RunToolOutputs,
  TalariaError,
  type ToolOutput,
} from '@talaria/protocol';
import { Feeds, type Subscriber } from '../journal/feeds.ts';
import type { Journal, QueueDepth } from '../journal/journal.ts';
import { type OutboxCounts, toWireWebhook } from '../journal/outbox.ts';
import type { LogRecord, RunTerms } from '../journal/records.ts';
import { isSuspect, type ShownWith, type StoredRun, toWireHead, toWireRun } from '../journal/run-state.ts';
import type { Secrets } from '../secrets/secrets.ts';
import { noReport, type Report } from '../telemetry/facts.ts';
import { ApprovalLists } from './approval-lists.ts';
import { expectOwn, findRun } from './run-access.ts';
import { RunCreation, type RunCreationOptions } from './run-creation.ts';
import { RunFeed } from './run-feed.ts';
import { RunForks, type RunForksOptions } from './run-forks.ts';
import { RunLists } from './run-lists.ts';
import { NO_WORK, type Workload } from './run-work.ts';
import { SessionAccess } from './session-access.ts';
import { Submissions, type SubmissionsOptions } from './submissions.ts';
import { findCall, isAbout } from './tool-call.ts';
import { WorkspaceAccess, type WorkspaceAccessOptions } from './workspace-access.ts';

/** How many records of a log are read at a time. */
const LOG_CHARS = 1_000_000;

export interface EngineOptions
  extends Omit<WorkspaceAccessOptions, 'journal'>,
    Pick<SubmissionsOptions, 'contextTokens' | 'clientSettings' | 'resolveRequest' | 'chooseWebhook'>,
    Pick<RunCreationOptions, 'maxQueuedRuns' | 'owners' | 'pace'>,
    Pick<RunForksOptions, 'sharesSessionFiles'> {
  journal: Journal;
  /** The agent name that runs are shown with. */
  modelName: string;
  /** How long runs are kept after their ends. */
  retentionMs: number;
  /** The secrets of this server, which are masked in every text that is shown. */
  secrets: Secrets;
  /** The work of this process; none by default. */
  work?: Workload | undefined;
  report?: Report;
}

export interface Load extends QueueDepth, Omit<Workload, 'room'> {
  maxQueued: number;
  subscribers: number;
  /** Webhook messages: not yet delivered, and recently given up. */
  webhooks: OutboxCounts;
}

export class Engine {
  readonly creation: RunCreation;
  readonly submissions: Submissions;
  readonly forks: RunForks;
  readonly lists: RunLists;
  readonly workspaces: WorkspaceAccess;
  readonly sessions: SessionAccess;
  readonly approvals: ApprovalLists;
  readonly feed: RunFeed;
  readonly #options: EngineOptions;
  readonly #journal: Journal;
  readonly #feeds: Feeds;
  readonly #work: Workload;
  readonly #shownWith: ShownWith;
  #draining = false;

  constructor(options: EngineOptions) {
    const {
      journal,
      modelName,
      retentionMs,
      secrets,
      chooseWebhook,
      work = NO_WORK,
      report = noReport,
    } = options;
    const { mask } = secrets;
    const defaultWebhook = () => chooseWebhook(undefined);
    this.#options = options;
    this.#journal = journal;
    this.#work = work;
    this.#shownWith = { model: modelName, retentionMs };
    this.creation = new RunCreation({ ...options, work, defaultWebhook, mask, report });
    this.sessions = new SessionAccess({ journal, checkpoints: options.checkpoints, secrets, modelName });
    this.submissions = new Submissions({
      ...options,
      sessions: this.sessions,
      creation: this.creation,
      mask,
    });
    this.forks = new RunForks({
      journal,
      creation: this.creation,
      defaultWebhook,
      contextTokens: options.contextTokens,
      mask,
      resolveRequest: options.resolveRequest,
      checkpoints: options.checkpoints,
      sharesSessionFiles: options.sharesSessionFiles,
    });
    this.lists = new RunLists(journal, this.#shownWith);
    this.workspaces = new WorkspaceAccess(options);
    this.approvals = new ApprovalLists(journal, this.#shownWith);
    this.feed = new RunFeed(journal.changes, this.#shownWith);
    this.#feeds = new Feeds(journal);
  }

  /** Whether the server is shutting down, so that clients should start their runs elsewhere. */
  get draining(): boolean {
    return this.#draining;
  }

  beginDraining(): void {
    this.#draining = true;
  }

  async get(owner: string, runId: string): Promise<Run> {
    const stored = await this.#find(owner, runId);
    const run = toWireRun(stored, this.#shownWith);
    const [webhook, queue] = await Promise.all([this.#journal.outbox.state(runId), this.#queueOf(stored)]);
    if (webhook !== undefined) run.webhook = toWireWebhook(webhook);
    if (queue !== undefined) run.queue = queue;
    return run;
  }

  async #queueOf(run: StoredRun): Promise<RunQueue | undefined> {
    const { status } = run.state;
    if (isTerminalStatus(status) || status === 'stopping') return undefined;
    const found = await this.#journal.queuePosition(run);
    if (found === undefined) return undefined;
    const { position, isBehindSession, isServedElsewhere } = found;
    if (isBehindSession) return { position, waiting_for: 'session' };
    const isServed = isServedElsewhere || (this.#work.maxActive > 0 && !this.#draining);
    if (!isServed) return { position, waiting_for: 'server' };
    return { position, waiting_for: isSuspect(run.state, false) ? 'recovery' : 'worker' };
  }

  /** The run without its answer, also if it is evicted. */
  async getHead(owner: string, runId: string): Promise<Run> {
    const run = isRunId(runId) ? await this.#journal.heads.get(runId) : undefined;
    return toWireHead(expectOwn(run, owner, runId), this.#shownWith);
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

  /** Keeps the run, or takes that back; returns it as it is then. */
  async keep(owner: string, runId: string, keep: boolean): Promise<Run> {
    await this.#find(owner, runId);
    await this.#journal.kept.keep(runId, keep, this.#shownWith.retentionMs);
    return this.get(owner, runId);
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

  /**
   * Throws unless the run exists, belongs to the owner, and has reached the cursor; returns whether any events are left
   * to deliver. `toCursor` is called when the run is found: that check comes before any about the cursor.
   */
  async checkCursor(
    owner: string,
    runId: string,
    toCursor: () => number,
  ): Promise<{ after: number; ended: boolean }> {
    const run = await this.#find(owner, runId);
    const after = toCursor();
    if (after >= run.nextSeq) {
      throw new TalariaError('invalid_cursor', {
        message: `The cursor ${after} is beyond the last event of the run, which is ${run.nextSeq - 1}`,
        param: 'last_event_id',
      });
    }
    return { after, ended: isTerminalStatus(run.state.status) && after === run.nextSeq - 1 };
  }

  /** Delivers the run's events after the cursor, then live ones; call `checkCursor` first. */
  subscribe(runId: string, afterSeq: number, subscriber: Subscriber): () => void {
    return this.#feeds.attach(runId, afterSeq, subscriber);
  }

  async load(): Promise<Load> {
    const { active, maxActive } = this.#work;
    return {
      ...(await this.#journal.queueDepth()),
      maxQueued: this.#options.maxQueuedRuns,
      active,
      maxActive,
      subscribers: this.#feeds.size + this.feed.size,
      webhooks: await this.#journal.outbox.counts(),
    };
  }

  #find(owner: string, runId: string): Promise<StoredRun> {
    return findRun(this.#journal, owner, runId);
  }
}
