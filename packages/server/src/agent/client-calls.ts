/**
 * The calls of a step that the client runs. Each is a durable question: its output comes as a post, which any server takes. The
 * client's time for it begins when everything else of the step is done, and while the client works, nobody works on the run.
 */
import { failpoint } from '../basics/failpoints.ts';
import type { NewRecord } from '../journal/records.ts';
import type { AgentAnswer, AgentRun } from './agent-run.ts';
import { completed, toPendingCall } from './call-records.ts';
import type { ToolCallProgress } from './progress.ts';
import { waitForOutside } from './wait.ts';

/**
 * Waits for the outputs of client tools, after everything else of the step is done, and records them. Returns the end of the run if
 * the calls themselves are its answer.
 */
export async function settleClientCalls(run: AgentRun): Promise<AgentAnswer | undefined> {
  for (;;) {
    const waiting = run.progress.calls.filter(({ phase }) => phase === 'waiting');
    const open = waiting.filter(({ answer }) => answer === undefined);
    if (open.length === 0) {
      const outcomes = waiting.map((call) => answered(run, call));
      failpoint('client-tool.before-outcome');
      if (outcomes.length > 0) await run.append(...outcomes);
      return undefined;
    }
    const { waitingIsTold } = run.progress;
    const answer = await (waitingIsTold ? waitForClient(run, open) : tellWaiting(run, open));
    if (answer !== undefined) return answer;
  }
}

/**
 * Starts the client's deadline. OpenAI's dialects tell the client of its calls only now, and the rest of the step may
 * have taken longer than the deadline.
 */
async function tellWaiting(
  run: AgentRun,
  open: readonly ToolCallProgress[],
): Promise<AgentAnswer | undefined> {
  const expiresAt = run.now() + run.limits.clientToolTimeoutMs;
  const calls = open.map((call) => toPendingCall(run, call, expiresAt));
  const waiting: NewRecord = { event: 'run.waiting', public: { calls, usage_so_far: run.progress.usage } };
  // In one commit with the end: no output can come between the two.
  if (isAllThatWasWanted(run, open)) return { output: asOutput(run, open), lastStep: [waiting] };
  failpoint('client-tool.before-waiting');
  await run.append(waiting);
  failpoint('client-tool.after-waiting');
  return undefined;
}

async function waitForClient(
  run: AgentRun,
  open: readonly ToolCallProgress[],
): Promise<AgentAnswer | undefined> {
  const untilMs = Math.min(...open.map(({ expiresAt = 0 }) => expiresAt));
  if (untilMs <= run.now()) return giveUp(run, open);
  await waitForOutside(run, untilMs);
  return undefined;
}

/**
 * A client of a chat that does not come back has what it wanted: many read a typed answer from the arguments of a call,
 * and never send its output. Nobody would read what the model says then. In any other run, and in one that was steered
 * or got a part of the outputs, the model is told, and can continue without the rest.
 */
async function giveUp(run: AgentRun, open: readonly ToolCallProgress[]): Promise<AgentAnswer | undefined> {
  const { request, hasUntaken } = run.progress;
  if (request?.inline === true && !hasUntaken) return { output: asOutput(run, open) };
  const seconds = Math.round(run.limits.clientToolTimeoutMs / 1000);
  const output = `The client sent no output within ${seconds} s. It may or may not have run the call.`;
  await run.answerCalls(open.map(({ call }) => ({ toolCallId: call.id, output, error: true })));
  return undefined;
}

/**
 * Whether a chat's client asked for these calls by their name (or for any call, and offered one tool): then it has its
 * answer. If it sends outputs all the same, they continue the conversation in another run. That loses no files: the
 * model could call nothing else in this step.
 */
function isAllThatWasWanted({ progress }: AgentRun, open: readonly ToolCallProgress[]): boolean {
  const { request, steps, termsFromStep, hasUntaken } = progress;
  const { choice = 'auto', tools = [] } = request?.client_tools ?? {};
  const only = choice === 'required' && tools.length === 1 ? tools[0]?.name : undefined;
  const wanted = typeof choice === 'object' ? choice.name : only;
  const isFirst = steps - 1 === termsFromStep;
  const isChat = request?.inline === true && !hasUntaken;
  return isChat && isFirst && open.every(({ call }) => call.tool === wanted);
}

/** The arguments of each call, as a line of JSON. */
function asOutput(run: AgentRun, open: readonly ToolCallProgress[]): string {
  return open.map((call) => JSON.stringify(toPendingCall(run, call, 0).arguments)).join('\n');
}

function answered(run: AgentRun, call: ToolCallProgress): NewRecord {
  const { output, isError, at } = call.answer!;
  return completed(run, call, { output, isError }, { endedAt: at });
}
