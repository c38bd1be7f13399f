/**
 * Works on one claimed run until it ends, is handed over, or the lease is lost.
 *
 *   claimed ──(again)──▶ run.resumed ──▶ workspace.prepared ──▶ agent loop ──answer──▶ run.completed
 *                                          ├─ RunFailure ─────▶ run.failed
 *                                          ├─ stop ───────────▶ run.cancelled
 *                                          ├─ limit ──────────▶ run.failed
 *                                          ├─ Handover ───────▶ released, unfinished
 *                                          ├─ Parked ─────────▶ released until somebody outside has answered
 *                                          └─ lease lost, store down ──▶ left to the next owner
 *
 * The end waits for the agent only for a grace period: a model or tool that ignores its abort signal delays nothing,
 * and whatever it tries to append later is refused.
 */
import { addUsage, type ClientTools, RUN_FAILURES, type RunFailureCode, type Usage } from '@talaria/protocol';
import { type AgentRun, Handover, type Limits, Parked, RunFailure } from '../agent/agent-run.ts';
import type { Gate } from '../agent/approvals/gate.ts';
import { runAgent } from '../agent/loop.ts';
import type { Model } from '../agent/model/model.ts';
import type { Price } from '../agent/price.ts';
import type { Progress } from '../agent/progress.ts';
import { valueProblem } from '../agent/schema-thread.ts';
import type { RecoveredWorkspace } from '../agent/tools/recovered-workspace.ts';
import type { ToolSet } from '../agent/tools/tool.ts';
import { type WorkspaceNews, workspaceNews } from '../agent/workspace-news.ts';
import { atMost } from '../basics/at-most.ts';
import { atTime } from '../basics/at-time.ts';
import { failpoint } from '../basics/failpoints.ts';
import type { Log } from '../basics/log.ts';
import { withGrace } from '../basics/with-grace.ts';
import type { Checkpoint } from '../journal/checkpoints.ts';
import {
  type AppendOptions,
  type Claim,
  type Journal,
  LeaseLostError,
  UnseenPostError,
  type Wait,
} from '../journal/journal.ts';
import type { Message } from '../journal/messages.ts';
import { cancelled } from '../journal/posts.ts';
import type { NewRecord } from '../journal/records.ts';
import { isStoreError } from '../journal/store-error.ts';
import type { Secrets } from '../secrets/secrets.ts';
import type { Report } from '../telemetry/facts.ts';
import { observed } from '../telemetry/run-facts.ts';
import type { KeptSandboxes } from './kept-sandboxes.ts';
import { OwnedLog } from './owned-log.ts';
import { FilesOfRun, type RunWorkspaceFiles } from './run-files.ts';
import { findContext, lacksContext } from './session-context.ts';

/** How long an aborted agent may take to let go before the run ends without it. */
const ABORT_GRACE_MS = 3_000;
/** How long the end of a cancelled or failed run waits for its background processes to end. */
const PROCESSES_GRACE_MS = 1_500;
/** How long that end waits for the last checkpoint of its files. */
const FILES_GRACE_MS = 1_500;
/** A run that crashes the server must not do so forever. */
const MAX_CLAIMS_WITHOUT_PROGRESS = 5;
/**
 * Failures that the operator may have to act on. The others are the business of the client (limits, what it asked for), and
 * their messages may quote an answer, which the server does not log. An internal error is logged where it happens.
 */
const LOGGED_FAILURES = new Set<string>([
  'provider_auth',
  'provider_rate_limit',
  'provider_unavailable',
  'provider_bad_request',
  'provider_error',
  'workspace_setup',
  'recovery_limit',
] satisfies RunFailureCode[]);

export interface RunLimits extends Limits {
  /** Wall time from the first claim; 0 means no limit. */
  maxRunMs: number;
}

/** The tools of a run. */
export interface Toolbox {
  tools: ToolSet;
  workspace: RunWorkspaceFiles;
  /** Releases what the tools hold. */
  close(): Promise<void>;
}

export interface WorkerDependencies {
  journal: Journal;
  model: Model;
  /** Undefined where the model's price is not known. */
  price?: Price | undefined;
  /** `mounted`: for a run that works in a directory of the operator. */
  gate(mounted: boolean): Gate;
  limits: RunLimits;
  systemPrompt: string;
  /** `unprepared`: what the run begins with is not in place yet. `last`: the newest checkpoint of its files. */
  openTools(claim: Claim, unprepared: boolean, last: Checkpoint | undefined): Promise<Toolbox>;
  /** Whether the runs of a session continue with each other's files. */
  sharesSessionFiles: boolean;
  secrets: Secrets;
  report: Report;
  log: Log;
  now(): number;
}

class StopRequested extends Error {
  override readonly name = 'StopRequested';
}

export class RunWorker {
  readonly claim: Claim;
  /** Resolves when the worker has let go of the run. */
  readonly done: Promise<void>;
  readonly #deps: WorkerDependencies;
  readonly #draining: AbortSignal;
  readonly #kept: KeptSandboxes;
  readonly #abort = new AbortController();
  readonly #log: OwnedLog;
  readonly #files: FilesOfRun;

  constructor(claim: Claim, deps: WorkerDependencies, draining: AbortSignal, kept: KeptSandboxes) {
    this.claim = claim;
    this.#deps = deps;
    this.#draining = draining;
    this.#kept = kept;
    const { journal, report, sharesSessionFiles } = deps;
    const onStop = () => this.#abort.abort(new StopRequested());
    this.#log = new OwnedLog(claim, { journal, report, onStop });
    this.#files = new FilesOfRun({
      claim,
      journal,
      sharesSessionFiles,
      progress: () => this.#progress,
      lastPos: () => this.#log.lastPos,
      append: (records, options) => this.#log.append(records, options),
      signal: this.#abort.signal,
      draining,
    });
    this.done = this.#work();
  }

  get #progress(): Progress {
    return this.#log.progress;
  }

  /** Ends the work at once, without ending the run. */
  abandon(reason: Handover | LeaseLostError): void {
    this.#abort.abort(reason);
  }

  async #work(): Promise<void> {
    const { journal, log } = this.#deps;
    const { runId } = this.claim;
    const unwatch = journal.watchPosts(runId, () => {
      this.#log.refresh().catch((error: unknown) => this.#abort.abort(error));
    });
    const cancelTimer = this.#startTimer();
    try {
      await this.#workUntilEnd();
    } catch (error) {
      if (error instanceof Handover) {
        await this.#handOver(error);
      } else if (error instanceof LeaseLostError) {
        log.warn({ runId }, 'the lease on the run is lost; another worker continues it');
      } else {
        // The store refused a write. The run is claimed again when the lease ends.
        log.error({ runId, err: error }, 'work on the run was interrupted');
      }
    } finally {
      this.#log.close();
      cancelTimer();
      unwatch();
    }
  }

  /** The run needs no worker until its own deadline or that of its question, whichever is sooner. */
  #toWait({ untilMs, seenPostedPos }: Pick<Parked, 'untilMs' | 'seenPostedPos'>): Wait {
    const { limits, now } = this.#deps;
    const startedAt = this.claim.run.state.started_at;
    const endsAt = limits.maxRunMs === 0 || startedAt === null ? Infinity : startedAt + limits.maxRunMs;
    return { ms: Math.max(0, Math.min(untilMs, endsAt) - now()), seenPostedPos };
  }

  /** The files are saved first: if this server dies meanwhile, another one continues with them. */
  async #waitWithSandbox(
    workspace: RunWorkspaceFiles,
    untilMs: number,
    wait: (given: Promise<void>) => Promise<void>,
  ): Promise<void> {
    const { journal } = this.#deps;
    const { lastPostedPos: seenPostedPos } = this.#progress;
    const kept = this.#kept.begin();
    if (kept === undefined) throw new Parked(untilMs, seenPostedPos);
    // Listens before anything else is awaited: the answer may come at once.
    const over = wait(kept.given);
    try {
      const parked = this.#files
        .keep(workspace, 'worked', this.#abort.signal)
        .then(() => journal.park(this.claim, this.#toWait({ untilMs, seenPostedPos })));
      await Promise.all([over, parked]);
      if (kept.isGiven) throw new Parked(untilMs, seenPostedPos);
    } finally {
      await kept.end(this.#abort.signal);
    }
    this.#abort.signal.throwIfAborted();
  }

  async #handOver(reason: Handover): Promise<void> {
    const { journal, log } = this.#deps;
    const { runId } = this.claim;
    try {
      await journal.release(this.claim, reason instanceof Parked ? this.#toWait(reason) : undefined);
      if (!(reason instanceof Parked)) log.info({ runId }, 'run handed over');
    } catch (error) {
      log.warn({ runId, err: error }, 'the run could not be handed over; it is claimed when the lease ends');
    }
  }

  async #workUntilEnd(): Promise<void> {
    const { run } = this.claim;
    // Before anything else: reading the run may already be what crashes the server.
    if (run.state.claims_without_progress > MAX_CLAIMS_WITHOUT_PROGRESS) {
      await this.#finish(await this.#failed(new RunFailure('recovery_limit', RUN_FAILURES.recovery_limit)));
      return;
    }
    failpoint('run.after-claim');
    await this.#log.read();
    await this.#files.inherit();
    const { isPrepared } = this.#files;
    const unprepared = !isPrepared || this.#files.mounted !== undefined;
    const toolbox = await this.#deps.openTools(this.claim, unprepared, this.#progress.checkpoint);
    let begun = false;
    try {
      if (this.#progress.stopRequested) this.#abort.abort(new StopRequested());
      else await this.#begin(toolbox);
      begun = true;
      for (;;) {
        const end = await this.#reachEnd(toolbox);
        if (await this.#finish(end, toolbox)) break;
        await this.#tellOfRestored(toolbox.workspace);
      }
    } catch (error) {
      // When nothing of the run is running here any more, its files are final for the next owner. Before the agent has
      // begun, they may be those of an earlier time.
      await toolbox.close();
      if (error instanceof Handover && begun && this.#files.isPrepared)
        await this.#files.keep(toolbox.workspace);
      throw error;
    }
    await toolbox.close();
  }

  /** Records what must be on record before the agent continues. */
  async #begin({ tools, workspace }: Toolbox): Promise<void> {
    const { journal } = this.#deps;
    const { runId } = this.claim;
    if (this.#progress.claims > 1) {
      const { continues, settledPos, messages, claimedBeforePos } = this.#progress;
      const discardFrom = continues ? undefined : await journal.firstShownAfter(runId, settledPos);
      const recovered = await this.#files.recover(workspace, messages);
      const all = this.#clientToolsOver(tools)();
      const news = this.#newsOf(workspace, recovered);
      // An owner that parked the run had told the model what was lost before.
      const lost = all.lostWithSandbox(
        continues ? this.#progress.callsSince(claimedBeforePos) : this.#progress.callsBefore(),
      );
      if (news.notice !== undefined) lost.push(news.notice);
      const payload = {
        ...(discardFrom === undefined ? {} : { discard_from_seq: discardFrom }),
        ...news.payload,
      };
      const told: NewRecord[] = lost.map((text) => ({ event: 'run.noticed', private: { text } }));
      // Clients need not know of a run that was parked properly, unless it has lost its files.
      if (!continues || news.notice !== undefined || Object.keys(payload).length > 0)
        told.unshift({ event: 'run.resumed', public: payload });
      if (told.length > 0) await this.#log.append(told);
    }
    await this.#takeContext();
  }

  /** For a run that continues after its files were restored for its end. */
  async #tellOfRestored(workspace: RunWorkspaceFiles): Promise<void> {
    const { notice: text } = this.#newsOf(workspace, this.#files.takeRestored());
    if (text !== undefined) await this.#log.append([{ event: 'run.noticed', private: { text } }]);
  }

  #newsOf(workspace: RunWorkspaceFiles, recovered: RecoveredWorkspace): WorkspaceNews {
    return workspaceNews(recovered, this.#progress.outcomes, (call) => this.#files.isUsedBy(workspace, call));
  }

  /** Reads the earlier messages of the session, and records them unless that was done. */
  async #takeContext(): Promise<void> {
    const { journal, limits } = this.#deps;
    const { owner, sessionId } = this.claim.run;
    if (lacksContext(this.#progress)) {
      const { contextTokens: maxTokens } = limits;
      const maxMessages = this.#progress.request?.max_context_messages;
      const found = await findContext(journal, this.claim.run, { maxTokens, maxMessages });
      if (found !== undefined) await this.#log.append([{ event: 'run.context', private: found }]);
    }
    const range = this.#progress.contextRange;
    if (range === undefined) return;
    const stored = await journal.sessions.messages(owner, sessionId, range);
    this.#progress.context = stored.map(({ message }) => message);
  }

  /** Runs the agent; returns the terminal record for the way it ended. */
  async #reachEnd(toolbox: Toolbox): Promise<NewRecord> {
    const { signal } = this.#abort;
    try {
      const {
        output,
        parsed,
        lastStep = [],
      } = await withGrace(this.#prepareAndRun(toolbox), signal, ABORT_GRACE_MS);
      const usage = usageWith(this.#progress.usage, lastStep);
      // The records of the last step join the next append, which usually is the end of the run.
      this.#log.hold(lastStep);
      const value = parsed === undefined ? {} : { output_parsed: parsed };
      return { event: 'run.completed', public: { output, ...value, usage } };
    } catch (thrown) {
      const error = signal.aborted ? signal.reason : thrown;
      if (error instanceof StopRequested) return this.#cancelled();
      if (error instanceof RunFailure) return this.#failed(error);
      if (error instanceof Handover || error instanceof LeaseLostError || isStoreError(error)) throw error;
      this.#deps.log.error({ runId: this.claim.runId, err: error }, 'the agent failed');
      return this.#failed(new RunFailure('internal_error', 'The server failed while working on the run'));
    }
  }

  async #prepareAndRun(toolbox: Toolbox): ReturnType<typeof runAgent> {
    await this.#files.prepare(toolbox.workspace);
    return runAgent(this.#agentRun(toolbox));
  }

  /** Appends the end; false when a post came meanwhile that keeps the run going. */
  async #finish(end: NewRecord, toolbox?: Toolbox): Promise<boolean> {
    let record = end;
    failpoint('run.before-terminal');
    for (;;) {
      const { stopRequested, hasUntaken } = this.#progress;
      // Without the end that it was held for, the last step is recorded on its own.
      if (this.#log.held.length > 0 && (stopRequested || hasUntaken)) {
        await this.#log.append([]);
        failpoint('step.after-append');
      }
      // An accepted stop is a promise to clients, whatever else ended the run.
      if (stopRequested) record = await this.#cancelled();
      // When a client reads that the run failed or was cancelled, none of its processes may still run. A run that
      // completes may still be steered or get outputs, and then needs its background processes.
      if (record.event !== 'run.completed')
        await atMost(PROCESSES_GRACE_MS, toolbox?.close() ?? Promise.resolve());
      // Checked in the same turn as the append, which covers every post up to `lastPostedPos`.
      else if (this.#progress.hasUntaken) return false;
      try {
        const options = { ...this.#endOptions(record), ...(await this.#lastFiles(record, toolbox)) };
        await this.#log.append([...textBefore(record), record], options);
        failpoint('run.after-terminal');
        this.#logFailure(record);
        return true;
      } catch (error) {
        if (!(error instanceof UnseenPostError)) throw error;
        await this.#log.refresh();
      }
    }
  }

  #logFailure(end: NewRecord): void {
    if (end.event !== 'run.failed') return;
    const { error_code, error: reason } = end.public;
    if (LOGGED_FAILURES.has(error_code))
      this.#deps.log.warn({ runId: this.claim.runId, error_code, reason }, 'the run failed');
  }

  /** A stop does not wait long for files. */
  async #lastFiles(
    end: NewRecord,
    toolbox: Toolbox | undefined,
  ): Promise<Pick<AppendOptions, 'sessionFiles'>> {
    if (toolbox === undefined) return {};
    const kept = this.#files.keepLast(toolbox.workspace);
    await (end.event === 'run.completed' ? kept : atMost(FILES_GRACE_MS, kept));
    const sessionFiles = await this.#files.forSession(toolbox.workspace);
    return sessionFiles === undefined ? {} : { sessionFiles };
  }

  #endOptions(end: NewRecord): AppendOptions {
    const { lastPostedPos, request } = this.#progress;
    const adds = end.event === 'run.completed' && request?.session_named === true;
    if (!adds) return { seenPostedPos: lastPostedPos };
    const turn = this.#progress.turn(this.#log.held.flatMap(toAnswer));
    return { seenPostedPos: lastPostedPos, turn: { ...turn, usage: end.public.usage } };
  }

  #agentRun({ tools, workspace }: Toolbox): AgentRun {
    const { model, price, gate, limits, systemPrompt, journal, secrets, report, now } = this.#deps;
    const { run } = this.claim;
    // Without accessors: an object literal with them has a hidden class of its own, which keeps the whole run in memory until
    // the next major collection of garbage.
    return {
      progress: this.#progress,
      model,
      price,
      tools: this.#clientToolsOver(tools),
      gate: gate(this.#files.mounted !== undefined),
      limits,
      systemPrompt,
      signal: this.#abort.signal,
      draining: this.#draining,
      append: (...records) => this.#log.append(records),
      keepFiles: () => this.#files.keep(workspace, 'worked', this.#abort.signal),
      newsOf: (recovered) => this.#newsOf(workspace, recovered),
      answerApproval: (requestId, choice, reason) => this.#log.answerApproval(requestId, choice, reason),
      answerCalls: (outputs) => this.#log.answerCalls(outputs),
      isGranted: (patternKeys) => journal.approvals.allows(run.owner, run.sessionId, patternKeys),
      stepEnded: (step) => report({ fact: 'model.step', run: observed(run), model: model.name, ...step }),
      checkValue: (schema, value) => valueProblem(run.owner, schema, value),
      nextPost: () => this.#log.nextPost(),
      waitWithSandbox: (untilMs, wait) => this.#waitWithSandbox(workspace, untilMs, wait),
      secrets,
      now,
    };
  }

  /** The client may send other tools along with its outputs, also while this worker holds the run. */
  #clientToolsOver(tools: ToolSet): () => ToolSet {
    let known: { ofClient: ClientTools | undefined; tools: ToolSet } = { ofClient: undefined, tools };
    return () => {
      const ofClient = this.#progress.request?.client_tools;
      if (ofClient !== known.ofClient) {
        known = { ofClient, tools: ofClient === undefined ? tools : tools.with(ofClient.tools) };
      }
      return known.tools;
    };
  }

  async #cancelled(): Promise<NewRecord> {
    const run = await this.#deps.journal.getRun(this.claim.runId);
    return cancelled(run?.state ?? this.claim.run.state);
  }

  async #failed({ code, message }: RunFailure): Promise<NewRecord> {
    const usage = await this.#usage();
    return {
      event: 'run.failed',
      public: {
        error: this.#deps.secrets.mask(message),
        error_code: code,
        ...(usage.total_tokens > 0 ? { usage_so_far: usage } : {}),
      },
    };
  }

  async #usage() {
    const run = await this.#deps.journal.getRun(this.claim.runId);
    return (run ?? this.claim.run).state.usage;
  }

  #startTimer(): () => void {
    const { limits, now } = this.#deps;
    const startedAt = this.claim.run.state.started_at;
    if (limits.maxRunMs === 0 || startedAt === null) return () => {};
    const seconds = Math.round(limits.maxRunMs / 1000);
    return atTime(startedAt + limits.maxRunMs, now, () =>
      this.#abort.abort(new RunFailure('time_limit', `The run used all its ${seconds} seconds`)),
    );
  }
}

/**
 * An answer with a requested format is shown with the end, in one piece. Shown text cannot be taken back, half of it
 * may turn out to be wrong, and a run that is steered after its answer gives another one.
 */
function textBefore(end: NewRecord): NewRecord[] {
  if (end.event !== 'run.completed' || end.public.output_parsed === undefined) return [];
  return [{ event: 'message.delta', public: { delta: end.public.output } }];
}

/** The usage of the run once these records are durable. */
function usageWith(usage: Usage, records: readonly NewRecord[]): Usage {
  return records.reduce(
    (sum, record) => (record.event === 'step.completed' ? addUsage(sum, record.private.usage) : sum),
    usage,
  );
}

function toAnswer(record: NewRecord): Message[] {
  return record.event === 'step.completed' ? [{ role: 'assistant', content: record.private.content }] : [];
}
