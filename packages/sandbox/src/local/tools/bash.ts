/**
 * `bash`: runs a command in the workspace, in a shell of its own or in one that goes on from the last stateful one, and
 * waits for its end or leaves it in the background.
 */
import { posix } from 'node:path';
import { pathComponents } from '../../workspace/files/workspace-path.ts';
import { renderScript } from '../isolation/shell.ts';
import {
  InvalidArgumentError,
  optionalBoolean,
  optionalEnvironment,
  optionalPositive,
  optionalString,
  rejectUnknown,
  requiredString,
} from './arguments.ts';
import { startInBackground } from './background.ts';
import { runInForeground } from './foreground.ts';
import { renderWithState, runStateful } from './stateful.ts';
import { LONGEST_TIMEOUT_S, type Tool, type ToolContext } from './tool.ts';

export interface BashRequest {
  command: string;
  timeoutS: number;
  /** As commands see it; undefined where the call names none. */
  workdir: string | undefined;
  env: Record<string, string>;
}

export const bash: Tool = async (args, context) => {
  rejectUnknown(args, ['command', 'timeout', 'workdir', 'env', 'stateful', 'background']);
  const request = readRequest(args, context);
  const stateful = optionalBoolean(args, 'stateful') ?? false;
  if (optionalBoolean(args, 'background')) {
    // The timeout of the batch is for its calls, and this one is answered at once.
    const given = optionalPositive(args, 'timeout');
    const timeoutS = given && Math.min(given, LONGEST_TIMEOUT_S);
    const script = stateful ? await renderWithState(request, context) : renderPlain(request, context);
    if (!(script instanceof Uint8Array)) return script;
    return startInBackground(script, { ...request, timeoutS }, context);
  }
  if (stateful) return runStateful(request, context);
  return (await runInForeground(renderPlain(request, context), request, context)).outcome;
};

function renderPlain(request: BashRequest, { isolation, workspace }: ToolContext): Uint8Array {
  return renderScript({ ...request, workdir: request.workdir ?? isolation.workspaceDir(workspace) });
}

function readRequest(args: Readonly<Record<string, unknown>>, context: ToolContext): BashRequest {
  const command = requiredString(args, 'command');
  if (command.trim() === '') throw new InvalidArgumentError('The argument command is empty.');
  if (command.includes('\0'))
    throw new InvalidArgumentError('The argument command contains a NUL character.');
  const timeoutS = Math.min(
    optionalPositive(args, 'timeout') ?? context.defaultTimeoutS,
    context.maxTimeoutS,
  );
  const workspaceDir = context.isolation.workspaceDir(context.workspace);
  const given = optionalString(args, 'workdir');
  const workdir =
    given === undefined ? undefined : posix.join(workspaceDir, ...pathComponents(given, workspaceDir));
  return { command, timeoutS, workdir, env: optionalEnvironment(args, 'env') };
}
