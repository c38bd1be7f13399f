/**
 * A command that continues from the state of the last stateful one, and leaves its own. Its timeout counts from its
 * call, so that waiting for its turn cannot make the call last longer.
 */
import { posix } from 'node:path';
import { dropLeft, keepState, leftStateName, loadState } from '../shell-state/shell-state.ts';
import { takeShellTurn } from '../shell-state/shell-turns.ts';
import { renderStatefulScript } from '../shell-state/stateful-script.ts';
import type { BashRequest } from './bash.ts';
import { runInForeground } from './foreground.ts';
import type { ToolContext, ToolOutcome } from './tool.ts';

export async function runStateful(request: BashRequest, context: ToolContext): Promise<ToolOutcome> {
  const { workspace, isolation } = context;
  const { timeoutS } = request;
  const calledAt = performance.now();
  const turn = await takeTurn(request, context);
  if (turn === 'timeout' || turn === 'aborted') return notRun(turn, timeoutS);
  using _turn = turn;
  const leftName = leftStateName();
  const script = await render(request, context, posix.join(isolation.tmpDir(workspace), leftName));
  try {
    const options = { timeoutS, waitedMs: performance.now() - calledAt };
    const { end, outcome } = await runInForeground(script, options, context);
    if (end.cause !== 'exited' || !end.started) return outcome;
    const lost = await keepState(workspace, leftName);
    return lost === undefined ? outcome : { ...outcome, output: addNote(outcome.output, lost) };
  } finally {
    await dropLeft(workspace, leftName);
  }
}

/**
 * For the background: it starts from the state at its turn, and leaves none. Returns an outcome if its turn never came.
 */
export async function renderWithState(
  request: BashRequest,
  context: ToolContext,
): Promise<Uint8Array | ToolOutcome> {
  const turn = await takeTurn(request, context);
  if (turn === 'timeout' || turn === 'aborted') return notRun(turn, request.timeoutS);
  using _turn = turn;
  return await render(request, context, undefined);
}

function takeTurn({ timeoutS }: BashRequest, { workspace, signal }: ToolContext) {
  return takeShellTurn(workspace.stateDir, { timeoutMs: timeoutS * 1000, signal });
}

async function render(
  request: BashRequest,
  { workspace, isolation }: ToolContext,
  saveTo: string | undefined,
): Promise<Uint8Array> {
  return renderStatefulScript({
    ...request,
    shell: isolation.shell,
    workspaceDir: isolation.workspaceDir(workspace),
    state: await loadState(workspace),
    saveTo,
  });
}

/** A command whose turn did not come; the shell is as it was. */
export function notRun(cause: 'timeout' | 'aborted', timeoutS: number): ToolOutcome {
  const waiting = 'while it waited for an earlier stateful command to end, and did not run';
  if (cause === 'aborted') {
    return { output: '', error: `The command was stopped ${waiting}.`, metadata: { failure: 'aborted' } };
  }
  const error = `The command used up its ${timeoutS} s ${waiting}.`;
  return { output: '', error, metadata: { timed_out: true, failure: 'timeout' } };
}

function addNote(output: string, lost: string): string {
  const lineEnd = output === '' || output.endsWith('\n') ? '' : '\n';
  return `${output}${lineEnd}[the next stateful command does not see what this one left: ${lost}]\n`;
}
