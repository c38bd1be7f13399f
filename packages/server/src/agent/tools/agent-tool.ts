/**
 * A tool of our own as the agent sees it: its definition, and what the server adds for each call, a preview for people and
 * what the gate judges.
 */
import { parametersOf, type ToolDefinition } from '@talaria/sandbox/tools';
import type { PastCall, PreparedCall, Tool } from './tool.ts';

export interface AgentToolOptions<Arguments> {
  /** Gets arguments that the definition has checked, so nobody is asked about a call that cannot work. */
  prepare(args: Arguments, callsBefore: () => PastCall[]): PreparedCall;
  lostInRestart?: Tool['lostInRestart'];
  /** What the model is told about timeouts; needless where the tool has none. */
  maxTimeoutS?: number;
}

export function agentTool<Arguments>(
  definition: ToolDefinition<string, Arguments>,
  { prepare, lostInRestart, maxTimeoutS = 0 }: AgentToolOptions<Arguments>,
): Tool {
  const { name, description } = definition;
  return {
    definition: { name, description, parameters: parametersOf(definition, { maxTimeoutS }) },
    prepare: (args, callsBefore) => prepare(definition.check(args), callsBefore),
    ...(lostInRestart && { lostInRestart }),
  };
}
