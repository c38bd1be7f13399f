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
  lostInRestart?: Tool['lostInRestart'];
  /** What the model is told about timeouts; needless where the tool has none. */
  maxTimeoutS?: number;
}

export function agentTool<Arguments>(
  definition: ToolDefinition<string, Arguments>,
  { prepare, lostInRestart, maxTimeoutS = 0 }: AgentToolOptions<Arguments>,
): Tool {
  return {
    definition: told(definition, maxTimeoutS),
    prepare: (args, callsBefore) => prepare(definition.check(args), callsBefore),
    ...(lostInRestart && { lostInRestart }),
  };
}

/** By tool and by its longest timeout. */
const knownTools = new WeakMap<ToolDefinition, Map<number, ToldTool>>();

/** What a model is told. It is the same object for every run, so whatever is known about it is found out once. */
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
