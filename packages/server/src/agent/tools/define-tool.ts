/** A tool of our own: its schema is what the model is given, what its calls are checked against, and documented. */
import { type ArgumentRules, checkArguments } from './arguments.ts';
import type { PastCall, PreparedCall, Tool } from './tool.ts';

interface ToolParts extends ArgumentRules {
  description: string;
  /** Gets arguments that fit the schema. */
  prepare(args: Record<string, unknown>, callsBefore: () => PastCall[]): PreparedCall;
}

export function defineTool({ description, prepare, ...rules }: ToolParts): Tool {
  return {
    definition: { name: rules.tool, description, parameters: { ...rules.schema } },
    prepare: (args, callsBefore) => prepare(checkArguments(rules, args), callsBefore),
  };
}
