/**
 * What earlier calls of a run mean for the call that is judged: a shell that continues from others, and input for a
 * program that an earlier call started. Neither can be judged from its own text alone: `f` may be a function that an
 * earlier command defined, and `y` goes to whatever waits for it. Everything needed is in the conversation, so it
 * survives whatever the run survives.
 *
 * A fork has a shell and processes of its own. The calls that it has inherited say nothing about them, so they do not
 * count here: a function that the other run defined does not exist in this one.
 */
import { inputOf, type terminal } from '@talaria/sandbox/tools';
import { oneLine } from './one-line.ts';
import type { PastCall, PreparedCall } from './tool.ts';

type Judged = NonNullable<PreparedCall['judged']>;

/** How much of earlier input to a process is read; a longer statement is judged by its end. */
const INPUT_CHARS = 100_000;
/** How much of a command is enough to recognise it. */
const COMMAND_CHARS = 100;
/** Assumed for a process that no known call of this run started. */
const UNKNOWN_PROCESS = 'bash';

/** What is read of a call of `terminal`. */
type TerminalArguments = Required<
  Pick<ReturnType<typeof terminal.check>, 'command' | 'stateful' | 'background'>
>;

/**
 * The readings of a stateful command. An earlier command that failed may have left something or nothing, so the command
 * is judged with it and without it.
 */
export function judgeStateful(command: string, before: readonly PastCall[]): Judged {
  const stateful = ownCalls(before)
    .map((call) => ({ failed: call.failed, args: terminalArguments(call) }))
    .filter(({ args }) => args?.stateful && !args.background)
    .map(({ failed, args }) => ({ failed, command: args?.command ?? '' }));
  const succeeded = stateful.filter(({ failed }) => !failed);
  const after = (calls: typeof stateful) => calls.map((call) => call.command);
  if (succeeded.length === stateful.length) return [{ text: command, after: after(stateful) }];
  return [
    { text: command, after: after(stateful) },
    { text: command, after: after(succeeded), dangersOnly: true },
  ];
}

/** A write as its equivalent command, with its other readings. */
export function judgeInput(
  id: string,
  data: string,
  before: readonly PastCall[],
): { command: string; judged: Judged } {
  const own = ownCalls(before);
  const program = programOf(id, own);
  const earlier = own.map((call) => (call.failed ? '' : writtenTo(id, call))).join('');
  const recent = earlier.slice(-INPUT_CHARS);
  // A statement ends with a semicolon or a line end: what came before that was judged already.
  const statement = recent.slice(recent.lastIndexOf(';') + 1) + data;
  const line = recent.slice(recent.lastIndexOf('\n') + 1) + data;
  return {
    command: withInput(program, data),
    judged: [{ text: withInput(program, statement) }, { text: line, dangersOnly: true }],
  };
}

/** Background processes that no answer reports as ended, each with the beginning of its command. */
export function runningProcesses(calls: readonly PastCall[]): string[] {
  const own = ownCalls(calls);
  const started = own.flatMap((call) => {
    const args = terminalArguments(call);
    const id = args?.background ? /\bproc_\w+/.exec(call.output)?.[0] : undefined;
    return args && id ? [{ id, command: args.command }] : [];
  });
  const running = started.filter(({ id }) => {
    const ended = new RegExp(`^${id} (exited|was killed|was ended|could not be started)`, 'm');
    return !own.some(({ output }) => ended.test(output));
  });
  return running.map(({ id, command }) => `${id} (${oneLine(command).slice(0, COMMAND_CHARS)})`);
}

/** Whether the run has used its shell. */
export function usesShell(calls: readonly PastCall[]): boolean {
  return ownCalls(calls).some((call) => terminalArguments(call) !== undefined);
}

function ownCalls(calls: readonly PastCall[]): readonly PastCall[] {
  return calls.filter(({ isInherited }) => isInherited !== true);
}

function programOf(id: string, before: readonly PastCall[]): string {
  const start = before.find((call) => call.output.includes(id) && terminalArguments(call)?.background);
  return (start && terminalArguments(start)?.command) ?? UNKNOWN_PROCESS;
}

function writtenTo(id: string, call: PastCall): string {
  const args = argumentsOf(call, 'process');
  if (args?.action !== 'write' || args.id !== id) return '';
  return inputOf(args);
}

/**
 * Read one by one, not by `terminal.check`: an earlier version may have run a call that the present one would refuse, and
 * its shell is still there.
 */
function terminalArguments(call: PastCall): TerminalArguments | undefined {
  const { command, stateful, background } = argumentsOf(call, 'terminal') ?? {};
  if (typeof command !== 'string') return undefined;
  return { command, stateful: stateful === true, background: background === true };
}

function argumentsOf(call: PastCall, tool: string): Record<string, unknown> | undefined {
  if (call.tool !== tool) return undefined;
  try {
    return JSON.parse(call.arguments) as Record<string, unknown>;
  } catch {
    // The call was refused because its arguments are not JSON.
    return undefined;
  }
}

function withInput(program: string, input: string): string {
  let end = 'input';
  while (input.includes(end)) end += '_';
  return `(${program}\n) <<'${end}'\n${input}${input.endsWith('\n') ? '' : '\n'}${end}\n`;
}
