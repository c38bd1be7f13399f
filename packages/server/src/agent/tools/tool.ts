/**
 * A tool as the agent sees it. A tool that fails is an outcome, not an exception: `execute` rejects only when
 * the server itself cannot continue.
 */
import { InvalidArguments } from '@talaria/sandbox/tools';
import type { ToolDefinition } from '../model/model.ts';
import { oneLine } from './one-line.ts';
import type { RecoveredWorkspace } from './recovered-workspace.ts';

export interface ToolOutcome {
  /** What the model reads. */
  output: string;
  isError: boolean;
  exitCode?: number | undefined;
  /** What became of the files, if the call lost its sandbox with them. */
  workspace?: RecoveredWorkspace | undefined;
}

export interface PreparedCall {
  /** One line for people: the command, path or query. It is masked and cut before it is shown. */
  preview: string;
  /** The shell command that the call would run, for the gate and for the person it asks; absent if there is none. */
  command?: string;
  /**
   * Other readings for the gate: equivalent texts, with what ran before in the same shell. With `dangersOnly` a text
   * may not be a command: then only known dangers count, not that it cannot be understood.
   */
  judged?: readonly { text: string; after?: readonly string[]; dangersOnly?: boolean }[];
  /** Asks a person whatever the gate decides: the question, and the key under which a lasting answer is stored. */
  question?: { text: string; key: string };
  execute(signal: AbortSignal): Promise<ToolOutcome>;
}

/** A call that the client runs itself. */
export interface ClientCall {
  preview: string;
  client: { arguments: Record<string, unknown> };
}

export interface PastCall {
  tool: string;
  /** Whether the client had a tool of this name then. It may have other tools by now. */
  ofClient?: boolean;
  /** Whether another run made it, which this one is a fork of: its processes and its shell are not those of this run. */
  isInherited?: boolean;
  /** The arguments as the model wrote them. */
  arguments: string;
  /** Also false while the call has no outcome yet. */
  failed: boolean;
  /** The output that the model read; empty while the call has no outcome yet. */
  output: string;
}

export interface Tool {
  readonly definition: ToolDefinition;
  /**
   * Checks the arguments; throws `InvalidArguments` with text for the model. `callsBefore` returns the calls of this
   * run that come before this one in the conversation.
   */
  prepare(args: Record<string, unknown>, callsBefore: () => PastCall[]): PreparedCall;
  /** Tells the model what these calls left behind that ends with their sandbox; undefined if there is nothing. */
  lostWithSandbox?(calls: readonly PastCall[]): string | undefined;
}

/** Tools that come and go during a run. Their names never clash with those of the others. */
export interface FurtherTools {
  /** The tools that can be called now. */
  list(): readonly Tool[];
  /** Why the tool of this name cannot be called now; undefined for any other name. */
  whyMissing(name: string): string | undefined;
}

const NO_FURTHER_TOOLS: FurtherTools = { list: () => [], whyMissing: () => undefined };

export class ToolSet {
  readonly #tools: readonly Tool[];
  readonly #further: FurtherTools;
  /** Tools that the client runs. One replaces a server tool of the same name. */
  readonly #client: readonly ToolDefinition[];

  constructor(
    tools: readonly Tool[],
    further: FurtherTools = NO_FURTHER_TOOLS,
    client: readonly ToolDefinition[] = [],
  ) {
    this.#tools = tools;
    this.#further = further;
    this.#client = client;
  }

  /** The same tools, and these of the client. */
  with(client: readonly ToolDefinition[]): ToolSet {
    return new ToolSet(this.#tools, this.#further, client);
  }

  get clientDefinitions(): readonly ToolDefinition[] {
    return this.#client;
  }

  isOfClient(name: string): boolean {
    return this.#client.some((definition) => definition.name === name);
  }

  /** The present tools: a step gets these, and the next one may get others. */
  get definitions(): ToolDefinition[] {
    return [...this.#present().map((tool) => tool.definition), ...this.#client];
  }

  /** Throws `InvalidArguments` also for an unknown tool and for arguments that are not a JSON object. */
  prepare(name: string, argumentsJson: string, callsBefore: () => PastCall[]): PreparedCall | ClientCall {
    if (this.isOfClient(name)) {
      // The client checks the arguments, because it runs the tool.
      const args = parseArguments(argumentsJson);
      return { preview: oneLine(JSON.stringify(args)), client: { arguments: args } };
    }
    const tool = this.#present().find(({ definition }) => definition.name === name);
    if (tool === undefined) {
      const names = this.definitions.map((definition) => definition.name);
      throw new InvalidArguments(
        this.#further.whyMissing(name) ?? `There is no tool '${name}'. Tools: ${names.join(', ')}`,
      );
    }
    return tool.prepare(parseArguments(argumentsJson), () => this.#ofServer(callsBefore()));
  }

  /** The texts that the model needs when the run continues without the sandbox in which it made these calls. */
  lostWithSandbox(calls: readonly PastCall[]): string[] {
    const ofServer = this.#ofServer(calls);
    const losses = this.#present().map((tool) => tool.lostWithSandbox?.(ofServer));
    return losses.filter((loss) => loss !== undefined);
  }

  #present(): Tool[] {
    const all = [...this.#tools, ...this.#further.list()];
    return all.filter(({ definition }) => !this.isOfClient(definition.name));
  }

  /** The calls of a client's `terminal` say nothing about the processes here. */
  #ofServer(calls: readonly PastCall[]): PastCall[] {
    return calls.filter(({ ofClient }) => ofClient !== true);
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
