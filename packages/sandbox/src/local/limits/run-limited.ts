/** A command under the limits of its slot: what every tool that runs one goes through. */
import { type CommandEnd, type CommandOptions, runCommand } from '../process/run-command.ts';
import type { ToolContext } from '../tools/tool.ts';
import type { LimitHit } from './slot-limits.ts';

export interface LimitedEnd extends CommandEnd {
  /** The limit it ran into, if it was ended by one. */
  limit: LimitHit | undefined;
}

export async function runLimited(
  context: ToolContext,
  options: Omit<CommandOptions, 'scriptDir' | 'pipes' | 'signal'>,
): Promise<LimitedEnd> {
  const { isolation, workspace, executionId, pipes, signal } = context;
  const command = await context.slotLimits.begin();
  try {
    const end = await runCommand(isolation.launch(workspace, executionId, command.launch), {
      ...options,
      scriptDir: workspace.stateDir,
      pipes,
      signal,
    });
    return { ...end, limit: command.hitBy(end) };
  } finally {
    command.done();
  }
}
