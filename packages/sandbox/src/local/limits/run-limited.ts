/** Runs a command under the limits of its slot; every tool that runs one uses this. */
import { type CommandEnd, type CommandOptions, runCommand } from '../process/run-command.ts';
import type { ToolContext } from '../tools/tool.ts';
import type { LimitHit } from './limit-hits.ts';

export interface LimitedEnd extends CommandEnd {
  /** The limit it ran into, if it was ended by one. */
  limit: LimitHit | undefined;
}

export async function runLimited(
  context: ToolContext,
  options: Omit<CommandOptions, 'scriptDir' | 'pipes' | 'signal'>,
): Promise<LimitedEnd> {
  const { isolation, workspace, executionId, pipes } = context;
  const command = await context.slotLimits.begin(context.signal);
  try {
    const launch = isolation.launch(workspace, executionId, command.launch, context.network.current);
    const end = await runCommand(launch, {
      ...options,
      scriptDir: workspace.stateDir,
      pipes,
      signal: command.signal,
      onStart: (running) => {
        command.pid = running.pid;
        options.onStart?.(running);
      },
    });
    return { ...end, limit: await command.hitBy(end) };
  } finally {
    command.done();
  }
}
