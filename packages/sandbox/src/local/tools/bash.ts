/**
 * `bash`: runs a command in the workspace, in a new shell or in one that continues from the last stateful command. It
 * waits for the end of the command, or leaves it in the background.
 */

import { posix } from 'node:path';
import { LONGEST_TIMER_S } from '../../longest-timer.ts';
import type { SandboxArguments } from '../../tools/sandbox-tools.ts';
import { pathComponents } from '../../workspace/files/path-components.ts';
import { grant } from '../confinement.ts';
import { renderScript } from '../isolation/shell.ts';
import { startInBackground } from './background.ts';
import { runInForeground } from './foreground.ts';
import { renderWithState, runStateful } from './stateful.ts';
import type { Run, ToolContext } from './tool.ts';

export interface BashRequest {
  command: string;
  timeoutS: number;
  /** As commands see it; undefined if the call names none. */
  workdir: string | undefined;
  env: Readonly<Record<string, string>>;
}

export const bash: Run<'bash'> = async (args, context) => {
  const granted = grant(context.confinement, args);
  if (!('isCutOff' in granted)) return granted;
  const { isCutOff, metadata } = granted;
  const outcome = await runBash(args, { ...context, isCutOff });
  return { ...outcome, metadata: { ...outcome.metadata, ...metadata } };
};

const runBash: Run<'bash'> = async (args, context) => {
  const { timeout, stateful = false, background = false, stderr } = args;
  const request = requestOf(args, context);
  if (background) {
    // The timeout of the batch is for its calls, and this one is answered at once.
    const timeoutS = timeout && Math.min(timeout, LONGEST_TIMER_S);
    const script = stateful ? await renderWithState(request, context) : renderPlain(request, context);
    if (!(script instanceof Uint8Array)) return script;
    return startInBackground(script, { ...request, timeoutS }, context);
  }
  if (stateful) return runStateful(request, context);
  const options = { ...request, errorsAfter: stderr === 'after' };
  return (await runInForeground(renderPlain(request, context), options, context)).outcome;
};

function renderPlain(request: BashRequest, { isolation, workspace }: ToolContext): Uint8Array {
  return renderScript({ ...request, workdir: request.workdir ?? isolation.workspaceDir(workspace) });
}

function requestOf(
  { command, timeout, workdir, env = {} }: SandboxArguments<'bash'>,
  { defaultTimeoutS, maxTimeoutS, isolation, workspace }: ToolContext,
): BashRequest {
  const workspaceDir = isolation.workspaceDir(workspace);
  return {
    command,
    timeoutS: Math.min(timeout ?? defaultTimeoutS, maxTimeoutS),
    workdir:
      workdir === undefined ? undefined : posix.join(workspaceDir, ...pathComponents(workdir, workspaceDir)),
    env,
  };
}
