/** `bash`: runs a command in the workspace, in a shell of its own or in one that goes on from the last stateful one. */
import { posix } from 'node:path';
import { pathComponents } from '../files/workspace-path.ts';
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
import { runInForeground } from './foreground.ts';
import { runStateful } from './stateful.ts';
import type { Tool, ToolContext } from './tool.ts';

export interface BashRequest {
  command: string;
  timeoutS: number;
  /** As commands see it; undefined where the call names none. */
  workdir: string | undefined;
  env: Record<string, string>;
}

export const bash: Tool = async (args, context) => {
  rejectUnknown(args, ['command', 'timeout', 'workdir', 'env', 'stateful']);
  const request = readRequest(args, context);
  if (optionalBoolean(args, 'stateful')) return runStateful(request, context);
  const workdir = request.workdir ?? context.isolation.workspaceDir(context.workspace);
  const { outcome } = await runInForeground(renderScript({ ...request, workdir }), request, context);
  return outcome;
};

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
