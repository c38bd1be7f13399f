/**
 * A tool as the agent sees it. A tool that fails is an outcome, not an exception: `execute` rejects only when
 * the server itself cannot go on.
 */
import type { ToolDefinition } from '../model/model.ts';

export interface ToolOutcome {
  /** What the model reads. */
  output: string;
  isError: boolean;
  exitCode?: number | undefined;
}

export interface PreparedCall {
  /** One line for people: the command, path or query. It is masked and cut before it is shown. */
  preview: string;
  /** The shell command the call would run, for the gate; absent where there is none. */
  command?: string;
  /** `callsBefore` tells of the calls of this run that come before this one in the conversation. */
  execute(signal: AbortSignal, callsBefore: () => PastCall[]): Promise<ToolOutcome>;
}

export interface PastCall {
  tool: string;
  /** As the model wrote them. */
  arguments: string;
  /** False also while it has no outcome yet. */
  failed: boolean;
}

export interface Tool {
  readonly definition: ToolDefinition;
  /** Checks the arguments; throws `InvalidArguments` with words for the model. */
  prepare(args: Record<string, unknown>): PreparedCall;
}

export class InvalidArguments extends Error {
  override readonly name = 'InvalidArguments';
}

export class ToolSet {
  readonly #tools: ReadonlyMap<string, Tool>;
  readonly definitions: readonly ToolDefinition[];

  constructor(tools: readonly Tool[]) {
    this.#tools = new Map(tools.map((tool) => [tool.definition.name, tool]));
    this.definitions = tools.map((tool) => tool.definition);
  }

  /** Throws `InvalidArguments` also for an unknown tool and for arguments that are not a JSON object. */
  prepare(name: string, argumentsJson: string): PreparedCall {
    const tool = this.#tools.get(name);
    if (tool === undefined) {
      throw new InvalidArguments(`There is no tool '${name}'. Tools: ${[...this.#tools.keys()].join(', ')}`);
    }
    return tool.prepare(parseArguments(argumentsJson));
  }
}

export function parseArguments(json: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = json.trim() === '' ? {} : JSON.parse(json);
  } catch (error) {
    throw new InvalidArguments(`The arguments are not valid JSON: ${(error as Error).message}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InvalidArguments('The arguments must be a JSON object');
  }
  return value as Record<string, unknown>;
}
