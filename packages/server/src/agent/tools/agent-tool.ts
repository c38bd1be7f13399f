/**
 * A tool of our own as the agent sees it: its definition, and what the server adds for each call, a preview for people and
 * what the gate judges.
 */
import { parametersOf, type ToolDefinition } from '@talaria/sandbox/tools';
import type { ToolDefinition as ToldTool } from '../model/model.ts';
import type { PastCall, PreparedCall, Tool } from './tool.ts';

export interface AgentToolOptions<Arguments> {
  /** Gets arguments that the definition has checked, so nobody is asked about a call that cannot work. */
  prepare(args: Arguments, callsBefore: () => PastCall[]): PreparedCall;
  lostWithSandbox?: Tool['lostWithSandbox'];
  /** The longest timeout that the model may ask for; needless for a tool without timeouts. */
  maxTimeoutS?: number;
}

export function agentTool<Arguments>(
  definition: ToolDefinition<string, Arguments>,
  { prepare, lostWithSandbox, maxTimeoutS = 0 }: AgentToolOptions<Arguments>,
): Tool {
  return {
    definition: told(definition, maxTimeoutS),
    prepare: (args, callsBefore) => prepare(definition.check(args), callsBefore),
    ...(lostWithSandbox && { lostWithSandbox }),
  };
}

/** The tools as models get them, by definition and by longest timeout. */
const knownTools = new WeakMap<ToolDefinition, Map<number, ToldTool>>();

/** The tool as a model gets it. Every run gets the same object, so facts about it (such as its tokens) are computed once. */
function told(definition: ToolDefinition, maxTimeoutS: number): ToldTool {
  const known = knownTools.get(definition) ?? new Map<number, ToldTool>();
  knownTools.set(definition, known);
  let tool = known.get(maxTimeoutS);
  if (tool === undefined) {
    const { name, description } = definition;
    tool = { name, description, parameters: parametersOf(definition, { maxTimeoutS }) };
    known.set(maxTimeoutS, tool);
  }
  return tool;
}
