/** Runs a command under the limits of its slot; every tool that runs one uses this. */
import type { CommandForm } from '../isolation/isolation-driver.ts';
import type { Keeper } from '../keeper/keeper.ts';
import { type CommandEnd, type CommandOptions, runCommand, type Starter } from '../process/run-command.ts';
import type { ToolContext } from '../tools/tool.ts';
import type { LaunchLimits } from './launch-limits.ts';
import type { LimitHit } from './limit-hits.ts';

export interface LimitedEnd extends CommandEnd {
  /** The limit it ran into, if it was ended by one. */
  limit: LimitHit | undefined;
}

export async function runLimited(
  context: ToolContext,
  options: Omit<CommandOptions, 'scriptDir' | 'pipes' | 'signal'>,
): Promise<LimitedEnd> {
  const { workspace, pipes, isCutOff } = context;
  const { group, keeper } = await context.seat.current();
  const command = await context.slotLimits.begin(group, context.signal);
  try {
    const form = { hasErrors: options.errors !== undefined, isCutOff };
    const end = await runCommand(starterFor(context, keeper, command.launch, form), {
      ...options,
      scriptDir: workspace.stateDir,
      pipes,
      signal: command.signal,
      onStart: (running) => {
        command.running = running;
        options.onStart?.(running);
      },
    });
    return { ...end, limit: await command.hitBy(end) };
  } finally {
    command.done();
  }
}

function starterFor(
  context: ToolContext,
  keeper: Keeper | undefined,
  limits: LaunchLimits,
  form: CommandForm,
): Starter {
  const { isolation, network, workspace, executionId } = context;
  const { standing } = isolation;
  // A keeper reaches only the directory of workspaces, and a mounted one is elsewhere.
  if (!keeper || !standing || workspace.isMounted)
    return isolation.launch(workspace, executionId, limits, network.current, form);
  const { isCutOff } = form;
  return (io) => keeper.start({ workspace, limits, env: standing.env, isCutOff }, io);
}
