/**
 * Runs the tool calls of one step. Calls that pass the gate run at once and in parallel; gated calls run as they are
 * approved, one question at a time.
 *
 * Recovery relies on the order of records around an effect. An ungated call is recorded as started before it runs. A
 * gated call is recorded as started (it waits), and then as executing before it runs. So a call that is recorded as
 * running without an outcome may have had its effect, and never runs again.
 *
 * If a step has more than `CALLS_MAX` calls of server tools, the later ones get an answer without being run. Otherwise
 * a confused model could start as many processes at once as fit into one answer.
 */

import { type ApprovalChoice, createId, type PendingCall } from '@talaria/protocol';
import { InvalidArguments } from '@talaria/sandbox/tools';
import { failpoint } from '../basics/failpoints.ts';
import type { NewRecord, QueuedApproval } from '../journal/records.ts';
import { maskValue } from '../secrets/credential-patterns.ts';
import { type AgentRun, Handover, Parked, RunFailure } from './agent-run.ts';
import type { Verdict } from './approvals/gate.ts';
import type { Decision, ToolCallProgress } from './progress.ts';
import { type ClientCall, type PreparedCall, parseArguments, type ToolOutcome } from './tools/tool.ts';

/** More than any sane model calls at once, and no more than a machine can bear. */
const CALLS_MAX = 64;
/** The preview of a call, on one line. */
const LINE_CHARS = 200;
/** The shown output of a call. */
const PREVIEW_CHARS = 500;
/** Arguments are shown up to this size as JSON; the call itself always gets them whole. */
const ARGUMENTS_CHARS = 8_000;
const COMMAND_CHARS = 8_000;
const CHOICES: ApprovalChoice[] = ['once', 'session', 'always', 'deny'];

const INTERRUPTED =
  'The server was interrupted while this call was running. Its outcome is unknown: it may have run completely, ' +
  'partly or not at all. Check the state before you repeat it.';

const ONE_AT_A_TIME =
  'The client takes one call of its tools at a time, and this one came after another. It was not run: look at the ' +
  'result of the other, then call again.';

const TOO_MANY =
  `One step may have at most ${CALLS_MAX} tool calls, and this one came after them. It was not run: ` +
  'look at the results of the others, then call again what you still need.';

interface Planned {
  progress: ToolCallProgress;
  prepared: PreparedCall | ClientCall | { refusal: string };
  verdict: Verdict;
}

/** Tells the model about calls that were running when the last owner was interrupted. */
export async function settleInterrupted(run: AgentRun): Promise<void> {
  const running = run.progress.calls.filter((call) => call.phase === 'running');
  const records = running.map((call) =>
    completed(run, call, { output: INTERRUPTED, isError: true }, { interrupted: true }),
  );
  if (records.length > 0) await run.append(...records);
}

/** Resolves when every call of the step has its outcome on record. */
export async function runToolCalls(run: AgentRun): Promise<void> {
  const ofServer = run.progress.calls.filter(({ call }) => !run.progress.clientCalls.has(call.id));
  const tooMany = new Set(ofServer.slice(CALLS_MAX));
  const planned = run.progress.calls.flatMap((call) => {
    if (call.phase === 'done' || call.phase === 'waiting') return [];
    return tooMany.has(call) ? refused(call, TOO_MANY) : plan(run, call);
  });
  await recordIntents(run, oneAtATime(run, planned));
  const work: Promise<void>[] = [];
  const begin = (call: Planned): void => {
    const outcome = execute(run, call);
    // It is awaited below, but perhaps only after it failed. Until then the rejection has no handler, and an unhandled
    // rejection would end the server.
    outcome.catch(() => {});
    work.push(outcome);
  };
  for (const call of planned) {
    if (call.progress.phase === 'running') begin(call);
  }
  work.push(askInTurn(run, planned, begin));
  // Waits for all of them, also after one failed: no call may still be running when the error is handled.
  for (let settled = 0; settled < work.length; ) {
    const current = work.slice(settled);
    settled = work.length;
    const failed = (await Promise.allSettled(current)).find((result) => result.status === 'rejected');
    if (failed !== undefined) {
      await Promise.allSettled(work);
      throw failed.reason;
    }
  }
  await settleClientCalls(run);
}

/** With `parallel_tool_calls: false` a client sees one call of its tools per step, however many the model made. */
function oneAtATime(run: AgentRun, planned: Planned[]): Planned[] {
  if (run.progress.request?.client_tools?.parallel !== false) return planned;
  const first = planned.find(({ prepared }) => 'client' in prepared);
  for (const call of planned) {
    if ('client' in call.prepared && call !== first) call.prepared = { refusal: ONE_AT_A_TIME };
  }
  return planned;
}

/**
 * Waits for the outputs of client tools, after everything else of the step is done, and records them. The run is parked
 * meanwhile. A run with background processes keeps its worker, because giving back the slot would end them.
 */
async function settleClientCalls(run: AgentRun): Promise<void> {
  for (;;) {
    const waiting = run.progress.calls.filter(({ phase }) => phase === 'waiting');
    const open = waiting.filter(({ answer }) => answer === undefined);
    if (open.length === 0) {
      const outcomes = waiting.map((call) => answered(run, call));
      failpoint('client-tool.before-outcome');
      if (outcomes.length > 0) await run.append(...outcomes);
      return;
    }
    if (run.progress.waitingIsTold) await waitForClient(run, open);
    else await tellWaiting(run, open);
  }
}

/**
 * Starts the client's deadline. OpenAI's dialects tell the client of its calls only now, and the rest of the step may
 * have taken longer than the deadline.
 */
async function tellWaiting(run: AgentRun, open: readonly ToolCallProgress[]): Promise<void> {
  const expiresAt = run.now() + run.limits.clientToolTimeoutMs;
  const calls = open.map((call) => toPendingCall(run, call, expiresAt));
  failpoint('client-tool.before-waiting');
  await run.append({ event: 'run.waiting', public: { calls, usage_so_far: run.progress.usage } });
  failpoint('client-tool.after-waiting');
}

async function waitForClient(run: AgentRun, open: readonly ToolCallProgress[]): Promise<void> {
  const untilMs = Math.min(...open.map(({ expiresAt = 0 }) => expiresAt));
  const leftMs = untilMs - run.now();
  const holdsProcesses = run.tools().lostInRestart(run.progress.callsBefore()).length > 0;
  if (leftMs <= 0) await giveUp(run, open);
  else if (holdsProcesses) await nextChange(run, leftMs);
  else throw new Parked(untilMs);
}

/**
 * Nobody continues a chat whose client has gone. In any other run the model is told, and can continue without the
 * output.
 */
async function giveUp(run: AgentRun, open: readonly ToolCallProgress[]): Promise<void> {
  const seconds = Math.round(run.limits.clientToolTimeoutMs / 1000);
  const names = [...new Set(open.map(({ call }) => call.tool))].join(', ');
  if (run.progress.request?.inline === true) {
    throw new RunFailure('client_tool_timeout', `The client sent no output of ${names} within ${seconds} s`);
  }
  const output = `The client sent no output within ${seconds} s. It may or may not have run the call.`;
  await run.answerCalls(open.map(({ call }) => ({ toolCallId: call.id, output, error: true })));
}

function answered(run: AgentRun, call: ToolCallProgress): NewRecord {
  const { output, isError, at } = call.answer!;
  return completed(run, call, { output, isError }, { endedAt: at });
}

function plan(run: AgentRun, progress: ToolCallProgress): Planned {
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

function refused(progress: ToolCallProgress, refusal: string): Planned {
  return { progress, prepared: { refusal }, verdict: { kind: 'allow' } };
}

/** Records what is about to happen to the calls that have not begun. */
async function recordIntents(run: AgentRun, planned: readonly Planned[]): Promise<void> {
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

function started(run: AgentRun, { progress, prepared, verdict }: Planned): NewRecord {
  const { call } = progress;
  const client = 'client' in prepared ? prepared.client : undefined;
  const expires_at = (run.now() + run.limits.clientToolTimeoutMs) / 1000;
  return {
    event: 'tool.started',
    public: {
      tool: run.secrets.mask(call.tool),
      preview: maskedStart(run, 'preview' in prepared ? prepared.preview : '', LINE_CHARS),
      tool_call_id: call.id,
      arguments: shownArguments(run, call.arguments),
      ...(client === undefined ? {} : { client: true }),
    },
    private: {
      gated: verdict.kind === 'ask',
      ...(client === undefined ? {} : { client: { arguments: runnable(run, client.arguments), expires_at } }),
    },
  };
}

function question(run: AgentRun, { progress, prepared, verdict }: Planned): QueuedApproval {
  const keys = verdict.kind === 'ask' ? verdict.keys : [];
  const command = 'execute' in prepared ? (prepared.question?.text ?? prepared.command ?? '') : '';
  return {
    request_id: createId('apr'),
    tool_call_id: progress.call.id,
    command: maskedStart(run, command, COMMAND_CHARS),
    pattern_key: keys[0] ?? '',
    pattern_keys: [...keys],
    description: keys.join(', '),
    choices: CHOICES,
  };
}

/** Asks about the gated calls one after the other; each runs as soon as it is approved. */
async function askInTurn(
  run: AgentRun,
  planned: readonly Planned[],
  begin: (call: Planned) => void,
): Promise<void> {
  for (const call of planned) {
    const { approval } = call.progress;
    if (call.progress.phase !== 'gated' || approval === undefined) continue;
    const decision = await decide(run, approval);
    if (decision.choice === 'deny') {
      await record(run, call, { output: denial(decision), isError: true });
      continue;
    }
    await run.append({ event: 'tool.executing', private: { tool_call_id: call.progress.call.id } });
    failpoint('approval.after-intent');
    // The answer may have taken hours; what was prepared before may be gone, or may be available only now.
    begin(plan(run, call.progress));
  }
}

/** The text that the model gets instead of an output. With a reason it forbids nothing: the reason may ask for another way. */
function denial({ message }: Decision): string {
  if (message !== undefined) return `A person refused this call and said why: ${message}`;
  return 'A person refused this call, or nobody approved it in time. Do not try to do it in another way.';
}

async function decide(run: AgentRun, approval: QueuedApproval): Promise<Decision> {
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
    const leftMs = (progress.outstanding?.expires_at ?? 0) * 1000 - run.now();
    if (leftMs <= 0) await run.answerApproval(approval.request_id, 'deny', 'timeout');
    else await nextChange(run, leftMs);
  }
  failpoint('approval.after-answer');
  return decided()!;
}

/** Resolves at the next post or after the timeout; throws when the run ends or is handed over. */
async function nextChange(run: AgentRun, timeoutMs: number): Promise<void> {
  const done = new AbortController();
  const interrupted = AbortSignal.any([run.signal, run.draining]);
  let timer: NodeJS.Timeout | undefined;
  try {
    interrupted.throwIfAborted();
    await Promise.race([
      run.nextPost(),
      new Promise<void>((resolve) => {
        timer = setTimeout(resolve, Math.min(timeoutMs, 2 ** 31 - 1));
      }),
      new Promise<void>((resolve) => {
        interrupted.addEventListener('abort', () => resolve(), { once: true, signal: done.signal });
      }),
    ]);
  } catch {
    // Thrown below, with its reason.
  } finally {
    clearTimeout(timer);
    done.abort();
  }
  run.signal.throwIfAborted();
  if (run.draining.aborted) throw new Handover();
}

async function execute(run: AgentRun, call: Planned): Promise<void> {
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

async function record(run: AgentRun, call: Planned, outcome: ToolOutcome): Promise<void> {
  // The terminal event of a stopped run says that it was stopped; nobody needs the outcome of a killed call.
  run.signal.throwIfAborted();
  await run.append(completed(run, call.progress, outcome));
  failpoint('tool.after-outcome');
}

function completed(
  run: AgentRun,
  call: ToolCallProgress,
  outcome: ToolOutcome,
  { interrupted = false, endedAt = run.now() }: { interrupted?: boolean; endedAt?: number } = {},
): NewRecord {
  const news = outcome.workspace && run.newsOf(outcome.workspace);
  const output = news?.notice === undefined ? outcome.output : `${outcome.output} ${news.notice}`;
  return {
    event: 'tool.completed',
    public: {
      tool: run.secrets.mask(call.call.tool),
      duration: Math.max(0, endedAt - call.startedAt) / 1000,
      error: outcome.isError,
      preview: maskedStart(run, output, PREVIEW_CHARS),
      tool_call_id: call.call.id,
      ...(outcome.exitCode === undefined ? {} : { exit_code: outcome.exitCode }),
      ...news?.payload,
    },
    private: { output, ...(interrupted ? { interrupted } : {}) },
  };
}

function toPendingCall(run: AgentRun, { call }: ToolCallProgress, expiresAt: number): PendingCall {
  return {
    tool_call_id: call.id,
    tool: run.secrets.mask(call.tool),
    arguments: runnable(run, parseArguments(call.arguments)),
    expires_at: expiresAt / 1000,
  };
}

/** The arguments for the client: whole, but without the secrets of this server. */
function runnable(run: AgentRun, args: Record<string, unknown>): Record<string, unknown> {
  return maskValue(args, run.secrets.maskKnown) as Record<string, unknown>;
}

function shownArguments(run: AgentRun, json: string): Record<string, unknown> {
  if (json.length > ARGUMENTS_CHARS) return { truncated: maskedStart(run, json, ARGUMENTS_CHARS) };
  try {
    return maskValue(parseArguments(json), run.secrets.mask) as Record<string, unknown>;
  } catch {
    return { invalid: run.secrets.mask(json) };
  }
}

/**
 * The text may be large, so it is cut before it is masked, and again after. Neither cut shows half of a secret: at the
 * first one, whatever could be the beginning of a secret is left out, and the second one sees only masked text.
 */
function maskedStart(run: AgentRun, text: string, max: number): string {
  const start = text.slice(0, 4 * max);
  const whole = start.length === text.length;
  const masked = run.secrets.mask(whole ? start : run.secrets.filter().push(start));
  if (whole && masked.length <= max) return masked;
  // The cut must not leave half of a surrogate pair.
  return `${masked.slice(0, max - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}
