/**
 * The request of a fork: that of the other run, with everything that the other run has said. Pure.
 *
 * - The messages keep their order and their indices, so a cut of the conversation stays valid.
 * - The fork has the terms and files that the run had at that event, unless the files were not in place yet: then the fork
 *   sets its workspace up itself. The client may change the terms.
 * - The fork does not inherit what concerns one request only: its trace, and that a client waits for the answer.
 * - A fork never works in a directory of the operator. If the other run was about to, the fork begins with a copy.
 */
import type { Content } from '@talaria/protocol';
import type { ForkPoint } from '../agent/fork-point.ts';
import type { Progress } from '../agent/progress.ts';
import { forkNotice } from '../agent/tools/fork-notice.ts';
import type { Message } from '../journal/messages.ts';
import type { ForkSource, Inherited, RunRequest } from '../journal/records.ts';
import { withSessionPrompt } from '../journal/run-terms.ts';
import type { WorkspaceSetup } from '../journal/workspace-setup.ts';

export interface ForkChanges {
  /** The next message of the user, and its shown form. */
  next?: { input: Content; shown: string } | undefined;
  instructions?: string | undefined;
}

export function toForkRequest(
  { pos, progress }: ForkPoint,
  source: Omit<ForkSource, 'pos'>,
  { next, instructions }: ForkChanges,
): RunRequest {
  const { request, context, skipped } = progress;
  if (request === undefined) throw new Error(`The log of ${source.run_id} has no request`);
  const {
    traceparent: _,
    inline: __,
    max_context_messages: ___,
    workspace,
    client_tools: clientTools,
    ...kept
  } = request;
  // `tool_choice` is for the first step after a request.
  const isChoiceSpent = progress.steps > progress.termsFromStep;
  const told =
    instructions === undefined ? undefined : withSessionPrompt(request.session_prompt, instructions);
  return {
    ...kept,
    ...(context === undefined ? {} : { context }),
    ...(skipped === 0 ? {} : { skipped }),
    ...(told === undefined ? {} : { instructions: told }),
    ...(clientTools && { client_tools: isChoiceSpent ? { ...clientTools, choice: 'auto' } : clientTools }),
    ...(workspace === undefined || progress.isPrepared ? {} : { workspace: copying(workspace) }),
    ...(next === undefined ? {} : { shown_input: next.shown }),
    forked_from: { ...source, pos },
    inherited: inheritedFrom(progress, next?.input),
  };
}

function copying({ mount, ...parts }: WorkspaceSetup): WorkspaceSetup {
  return mount === undefined ? parts : { ...parts, directory: mount };
}

function inheritedFrom(progress: Progress, input: Content | undefined): Inherited {
  const { contextRange: session, lastCut: cut, clientCalls } = progress;
  const notice = forkNotice(progress.callsBefore());
  const told: Message[] = notice === undefined ? [] : [{ role: 'user', content: notice }];
  return {
    messages: [...progress.sincePrompt(), ...told],
    client_calls: [...clientCalls],
    ...(session === undefined ? {} : { session }),
    ...(cut === undefined ? {} : { cut }),
    ...(input === undefined ? {} : { input }),
  };
}
