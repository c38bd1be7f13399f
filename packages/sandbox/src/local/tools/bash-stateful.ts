/** `bash_stateful`: types a command into the terminal of the slot, and waits until the shell prompts again. */
import type { SandboxArguments } from '../../tools/sandbox-tools.ts';
import { grant } from '../confinement.ts';
import { takeShellTurn } from '../shell-state/shell-turns.ts';
import { type CallEnd, TerminalError, type TerminalSession } from '../terminal/terminal-session.ts';
import { notRun } from './stateful.ts';
import type { Run, ToolContext, ToolOutcome } from './tool.ts';

type Result = Omit<ToolOutcome, 'output'>;

export const bashStateful: Run<'bash_stateful'> = async (args, context) => {
  const granted = grant(context.confinement, args);
  if (!('isCutOff' in granted)) return granted;
  const { isCutOff, metadata } = granted;
  const outcome = await runInTerminal(args, { ...context, isCutOff });
  return { ...outcome, metadata: { ...outcome.metadata, ...metadata, stateful: true } };
};

async function runInTerminal(
  { command, timeout }: SandboxArguments<'bash_stateful'>,
  context: ToolContext,
): Promise<ToolOutcome> {
  const { signal, terminal, workspace, defaultTimeoutS, maxTimeoutS } = context;
  const timeoutS = Math.min(timeout ?? defaultTimeoutS, maxTimeoutS);
  const deadline = performance.now() + timeoutS * 1000;
  const left = () => Math.max(0, deadline - performance.now());
  const turn = await takeShellTurn(`${workspace.stateDir} terminal`, { timeoutMs: left(), signal });
  if (typeof turn === 'string') return notRun(turn, timeoutS);
  using _turn = turn;
  try {
    const session = await terminal.open(context);
    const end = await session.run(command, left(), signal);
    if (end.cause === 'timeout' || end.cause === 'aborted') await session.end();
    return outcomeOf(session, resultOf(end, timeoutS, session.limitHit));
  } catch (error) {
    if (!(error instanceof TerminalError)) throw error;
    return noTerminal(error);
  }
}

export function noTerminal({ message }: TerminalError): ToolOutcome {
  return {
    output: '',
    error: `The slot could get no terminal: ${message}`,
    metadata: { failure: 'backend_down' },
  };
}

function outcomeOf(session: TerminalSession, { error, metadata }: Result): ToolOutcome {
  const { text, droppedBytes } = session.take();
  const missing = droppedBytes > 0 ? `[${droppedBytes} bytes before this left out]\n` : '';
  const over = session.isOver ? '[the shell has ended; the next call gets a new one]\n' : '';
  const lineEnd = over === '' || text === '' || text.endsWith('\n') ? '' : '\n';
  return {
    output: `${missing}${text}${lineEnd}${over}`,
    error,
    metadata: { ...metadata, truncated: droppedBytes > 0 },
  };
}

function resultOf(
  { cause, exitCode }: CallEnd,
  timeoutS: number,
  limit: TerminalSession['limitHit'],
): Result {
  if (limit) return { error: limit.message, metadata: { failure: limit.failure } };
  switch (cause) {
    case 'timeout':
      return {
        error: `The command timed out after ${timeoutS} s; its shell was ended, and everything in it.`,
        metadata: { timed_out: true, failure: 'timeout' },
      };
    case 'aborted':
      return { error: 'The command was stopped; its shell was ended.', metadata: { failure: 'aborted' } };
    default:
      if (exitCode === undefined)
        return {
          error: 'The shell was lost; what the command did is unknown.',
          metadata: { failure: 'gone' },
        };
      return {
        error: exitCode === 0 ? '' : `The command exited with code ${exitCode}.`,
        metadata: { exit_code: exitCode },
      };
  }
}
