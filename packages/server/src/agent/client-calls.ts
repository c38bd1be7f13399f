/**
 * The calls of a step that the client runs. Each is a durable question: its output comes as a post, which any server takes. The
 * client's time for it begins when everything else of the step is done, and while the client works, nobody works on the run.
 */
import { failpoint } from '../basics/failpoints.ts';
import type { NewRecord } from '../journal/records.ts';
import { type AgentRun, RunFailure } from './agent-run.ts';
import { completed, toPendingCall } from './call-records.ts';
import type { ToolCallProgress } from './progress.ts';
import { waitForOutside } from './wait.ts';

/** Waits for the outputs of client tools, after everything else of the step is done, and records them. */
export async function settleClientCalls(run: AgentRun): Promise<void> {
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
  if (untilMs <= run.now()) await giveUp(run, open);
  else await waitForOutside(run, untilMs);
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
