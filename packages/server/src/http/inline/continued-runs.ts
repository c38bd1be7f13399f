/**
 * Requests that bring the outputs of client tools, and so continue a run that waits for them. The answer to such a
 * request begins after the `run.waiting` that asked for the outputs. In these dialects every request is complete, so it
 * may differ from the one before: when one agent hands over to another, it has other instructions and other tools. The
 * run then follows the latest request.
 *
 * A run cannot be continued when it is gone, did not wait for these calls, or has other outputs by now. Then the
 * request starts a new run, which gets the calls and their results as earlier messages.
 */
import {
  NO_USAGE,
  type PendingCall,
  type Run,
  TalariaError,
  type ToolOutput,
  type Usage,
} from '@talaria/protocol';
import { hashJson } from '../../basics/hash-json.ts';
import type { Engine } from '../../engine/engine.ts';
import type { AskedTerms } from '../../engine/submissions.ts';
import type { Journal } from '../../journal/journal.ts';
import type { RunTerms } from '../../journal/records.ts';
import { termsIn } from '../../journal/run-terms.ts';
import { runOfCallId, toClientCallId } from '../../responses/call-ids.ts';

export interface ContinuedRun {
  run: Run;
  /** The answer begins after this event. */
  afterSeq: number;
  usageBefore: Usage;
}

export interface ContinuedRunsOptions {
  engine: Pick<Engine, 'get' | 'answerCalls' | 'steer' | 'submissions' | 'sessions'>;
  journal: Pick<Journal, 'readLog'>;
}

export interface Continuing {
  asked: AskedTerms;
  /**
   * The user's text after the outputs. A run that no longer waits for the outputs already has this text, or is not
   * continued.
   */
  message?: string | undefined;
  /** Called before a waiting run gets its outputs, which may end it at once. */
  prepare?(found: ContinuedRun): Promise<void>;
}

interface Wait {
  seq: number;
  calls: PendingCall[];
  usage: Usage;
  /** The terms of the run up to now. */
  terms: RunTerms;
  /** The session's prompt when the run began. */
  sessionPrompt: string | undefined;
  /** The messages that the run got after this wait and before its next one. */
  told: string[];
}

export class ContinuedRuns {
  readonly #options: ContinuedRunsOptions;

  constructor(options: ContinuedRunsOptions) {
    this.#options = options;
  }

  /**
   * Gives the run its outputs; undefined when there is no run to continue. The same request again gets the same answer.
   */
  async continue(
    owner: string,
    outputs: readonly ToolOutput[],
    { asked, message, prepare }: Continuing,
  ): Promise<ContinuedRun | undefined> {
    const [runId, ...others] = new Set(outputs.map(({ toolCallId }) => runOfCallId(toolCallId)));
    if (runId === undefined || others.length > 0) return undefined;
    const run = await this.#options.engine.get(owner, runId).catch(ifNotFound);
    const wait = run && (await this.#findWait(runId, outputs));
    if (run === undefined || wait === undefined) return undefined;
    expectAll(run, wait, outputs);
    const { engine } = this.#options;
    // Runs of earlier versions did not keep their session's prompt.
    const prompt = wait.sessionPrompt ?? (await engine.sessions.systemPrompt(owner, run.session_id));
    const terms = await engine.submissions.terms(owner, asked, prompt);
    const changed = hashJson(terms) === hashJson(wait.terms) ? undefined : terms;
    const own = new Map(wait.calls.map(({ tool_call_id: id }) => [toClientCallId(runId, id), id]));
    const found = { run, afterSeq: wait.seq, usageBefore: wait.usage };
    const isWaiting = run.pending_calls !== undefined && run.pending_calls.length > 0;
    const isTold = message === undefined || wait.told.includes(message);
    if (!isTold && !isWaiting) return undefined;
    if (isWaiting) await prepare?.(found);
    if (!isTold) await engine.steer(owner, runId, message);
    const answers = outputs.map((output) => ({ ...output, toolCallId: own.get(output.toolCallId)! }));
    try {
      await engine.answerCalls(owner, runId, answers, changed);
    } catch (error) {
      if (error instanceof TalariaError && error.code === 'call_not_pending') return undefined;
      throw error;
    }
    return found;
  }

  /** The wait of the run that was for all of these calls. */
  async #findWait(runId: string, outputs: readonly ToolOutput[]): Promise<Wait | undefined> {
    const log = await this.#options.journal.readLog(runId, -1);
    const terms = termsIn(log);
    const accepted = log.find((record) => record.event === 'run.accepted');
    const sessionPrompt = accepted?.private.session_prompt;
    let told: string[] = [];
    for (const record of log.reverse()) {
      if (record.event === 'steer.requested') told.push(record.private.input);
      if (record.event !== 'run.waiting' || record.seq === null) continue;
      const { calls, usage_so_far: usage = NO_USAGE } = record.public;
      const ids = new Set(calls.map(({ tool_call_id: id }) => toClientCallId(runId, id)));
      if (outputs.every(({ toolCallId }) => ids.has(toolCallId))) {
        return { seq: record.seq, calls, usage, terms, sessionPrompt, told };
      }
      told = [];
    }
    return undefined;
  }
}

/** OpenAI refuses messages that leave a call without its output; a run would wait for it until its timeout. */
function expectAll(
  { run_id: runId, pending_calls: pending = [] }: Run,
  { calls }: Wait,
  outputs: readonly ToolOutput[],
): void {
  const given = new Set(outputs.map(({ toolCallId }) => toolCallId));
  const missing = calls
    .filter(({ tool_call_id: id }) => pending.some((call) => call.tool_call_id === id))
    .map(({ tool_call_id: id }) => toClientCallId(runId, id))
    .find((id) => !given.has(id));
  if (missing === undefined) return;
  throw new TalariaError('invalid_request', { message: `No tool output found for function call ${missing}` });
}

function ifNotFound(error: unknown): undefined {
  if (error instanceof TalariaError && error.code === 'run_not_found') return undefined;
  throw error;
}
