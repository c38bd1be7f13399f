/**
 * Runs the tool calls of one step. Calls that pass the gate run at once and in parallel; gated calls run as they are
 * approved, one question at a time. When no call runs any more, the run waits for its answer without a worker (wait.ts).
 *
 * Recovery relies on the order of records around an effect. An ungated call is recorded as started before it runs. A
 * gated call is recorded as started (it waits), and then as executing before it runs. So a call that is recorded as
 * running without an outcome may have had its effect, and never runs again.
 *
 * If a step has more than `CALLS_MAX` calls of server tools, the later ones get an answer without being run. Otherwise
 * a confused model could start as many processes at once as fit into one answer.
 */

import { InvalidArguments } from '@talaria/sandbox/tools';
import { failpoint } from '../basics/failpoints.ts';
import type { NewRecord, QueuedApproval } from '../journal/records.ts';
import { type AgentAnswer, type AgentRun, Handover } from './agent-run.ts';
import type { Verdict } from './approvals/gate.ts';
import { completed, type PlannedCall, question, started } from './call-records.ts';
import { settleClientCalls } from './client-calls.ts';
import type { Decision, ToolCallProgress } from './progress.ts';
import type { ToolOutcome } from './tools/tool.ts';
import { waitForOutside } from './wait.ts';

/** More than any sane model calls at once, and no more than a machine can bear. */
const CALLS_MAX = 64;

const INTERRUPTED =
  'The server was interrupted while this call was running. Its outcome is unknown: it may have run completely, ' +
  'partly or not at all. Check the state before you repeat it.';

const ONE_AT_A_TIME =
  'The client takes one call of its tools at a time, and this one came after another. It was not run: look at the ' +
  'result of the other, then call again.';

const TOO_MANY =
  `One step may have at most ${CALLS_MAX} tool calls, and this one came after them. It was not run: ` +
  'look at the results of the others, then call again what you still need.';

/** Tells the model about calls that were running when the last owner was interrupted. */
export async function settleInterrupted(run: AgentRun): Promise<void> {
  const running = run.progress.calls.filter((call) => call.phase === 'running');
  const records = running.map((call) =>
    completed(run, call, { output: INTERRUPTED, isError: true }, { interrupted: true }),
  );
  if (records.length > 0) await run.append(...records);
}

/**
 * Resolves when every call of the step has its outcome on record, or with the end of the run if calls of the client are
 * its answer.
 */
export async function runToolCalls(run: AgentRun): Promise<AgentAnswer | undefined> {
  const ofServer = run.progress.calls.filter(({ call }) => !run.progress.clientCalls.has(call.id));
  const tooMany = new Set(ofServer.slice(CALLS_MAX));
  const planned = run.progress.calls.flatMap((call) => {
    if (call.phase === 'done' || call.phase === 'waiting') return [];
    return tooMany.has(call) ? refused(call, TOO_MANY) : plan(run, call);
  });
  await recordIntents(run, oneAtATime(run, planned));
  const running = new RunningCalls(run);
  for (const call of planned) {
    if (call.progress.phase === 'running') running.begin(call);
  }
  await running.endWith(askInTurn(run, planned, running));
  return settleClientCalls(run);
}

class RunningCalls {
  readonly #run: AgentRun;
  readonly #running = new Set<Promise<void>>();
  readonly #failures: unknown[] = [];

  constructor(run: AgentRun) {
    this.#run = run;
  }

  begin(call: PlannedCall): void {
    const ended = execute(this.#run, call)
      .catch((error: unknown) => void this.#failures.push(error))
      .finally(() => this.#running.delete(ended));
    this.#running.add(ended);
  }

  /** Resolves when one of them has ended; undefined if none runs. */
  get next(): Promise<void> | undefined {
    return this.#running.size === 0 ? undefined : Promise.race(this.#running);
  }

  /** Waits for all of them, also after one failed: no call may still be running when the error is handled. */
  async endWith(asking: Promise<void>): Promise<void> {
    const [asked] = await Promise.allSettled([asking]);
    await Promise.all(this.#running);
    if (this.#failures.length > 0) throw this.#failures[0];
    if (asked.status === 'rejected') throw asked.reason;
  }
}

/** With `parallel_tool_calls: false` a client sees one call of its tools per step, however many the model made. */
function oneAtATime(run: AgentRun, planned: PlannedCall[]): PlannedCall[] {
  if (run.progress.request?.client_tools?.parallel !== false) return planned;
  const first = planned.find(({ prepared }) => 'client' in prepared);
  for (const call of planned) {
    if ('client' in call.prepared && call !== first) call.prepared = { refusal: ONE_AT_A_TIME };
  }
  return planned;
}

function plan(run: AgentRun, progress: ToolCallProgress): PlannedCall {
  const { id, tool, arguments: json } = progress.call;
  try {
    const prepared = run.tools().prepare(tool, json, () => run.progress.callsBefore(id));
    const verdict: Verdict = 'client' in prepared ? { kind: 'allow' } : run.gate(prepared);
    return { progress, prepared, verdict };
  } catch (error) {
    if (!(error instanceof InvalidArguments)) throw error;
    return refused(progress, error.message);
  }
}

function refused(progress: ToolCallProgress, refusal: string): PlannedCall {
  return { progress, prepared: { refusal }, verdict: { kind: 'allow' } };
}

/** Records what is about to happen to the calls that have not begun. */
async function recordIntents(run: AgentRun, planned: readonly PlannedCall[]): Promise<void> {
  const fresh = planned.filter(({ progress }) => progress.phase === 'new');
  if (fresh.length === 0) return;
  const records: NewRecord[] = fresh.map((call) => started(run, call));
  const gated = fresh.filter(({ verdict }) => verdict.kind === 'ask');
  if (gated.length > 0) {
    records.push({
      event: 'approval.queued',
      private: { approvals: gated.map((call) => question(run, call)) },
    });
  }
  failpoint('tool.before-intent');
  await run.append(...records);
  failpoint('tool.after-intent');
}

/** Asks about the gated calls one after the other; each runs as soon as it is approved. */
async function askInTurn(
  run: AgentRun,
  planned: readonly PlannedCall[],
  running: RunningCalls,
): Promise<void> {
  for (const call of planned) {
    const { approval } = call.progress;
    if (call.progress.phase !== 'gated' || approval === undefined) continue;
    const decision = await decide(run, approval, running);
    if (decision.choice === 'deny') {
      await record(run, call, { output: denial(decision), isError: true });
      continue;
    }
    if (run.draining.aborted) throw new Handover();
    await run.append({ event: 'tool.executing', private: { tool_call_id: call.progress.call.id } });
    failpoint('approval.after-intent');
    // The answer may have taken hours; what was prepared before may be gone, or may be available only now.
    running.begin(plan(run, call.progress));
  }
}

/** The text that the model gets instead of an output. With a reason it forbids nothing: the reason may ask for another way. */
function denial({ message }: Decision): string {
  if (message !== undefined) return `A person refused this call and said why: ${message}`;
  return 'A person refused this call, or nobody approved it in time. Do not try to do it in another way.';
}

async function decide(run: AgentRun, approval: QueuedApproval, running: RunningCalls): Promise<Decision> {
  const { progress } = run;
  const decided = () => progress.decisions.get(approval.request_id);
  if (decided() === undefined && progress.outstanding?.request_id !== approval.request_id) {
    if (await run.isGranted(approval.pattern_keys)) {
      await run.append({ event: 'approval.waived', private: { request_id: approval.request_id } });
    } else {
      failpoint('approval.before-request');
      const expiresAt = (run.now() + run.limits.approvalTimeoutMs) / 1000;
      await run.append({ event: 'approval.request', public: { ...approval, expires_at: expiresAt } });
      failpoint('approval.after-request');
    }
  }
  while (decided() === undefined) {
    const untilMs = (progress.outstanding?.expires_at ?? 0) * 1000;
    if (untilMs <= run.now()) await run.answerApproval(approval.request_id, 'deny', 'timeout');
    else await waitForOutside(run, untilMs, running.next);
  }
  failpoint('approval.after-answer');
  return decided()!;
}

async function execute(run: AgentRun, call: PlannedCall): Promise<void> {
  const { prepared, verdict } = call;
  let outcome: ToolOutcome;
  if (verdict.kind === 'never') {
    outcome = { output: `This command is never run here: ${verdict.reason}`, isError: true };
  } else if ('refusal' in prepared) {
    outcome = { output: prepared.refusal, isError: true };
  } else if ('client' in prepared) {
    throw new Error(`The call ${call.progress.call.id} is the client's to run`);
  } else {
    outcome = await prepared.execute(run.signal);
    failpoint('tool.after-effect');
  }
  await record(run, call, outcome);
}

async function record(run: AgentRun, call: PlannedCall, outcome: ToolOutcome): Promise<void> {
  // The terminal event of a stopped run says that it was stopped; nobody needs the outcome of a killed call.
  run.signal.throwIfAborted();
  await run.append(completed(run, call.progress, outcome));
  failpoint('tool.after-outcome');
}
