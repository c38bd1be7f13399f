/** Tools that the caller runs itself: how callers write them, and how the client sends them. */
import type { FunctionToolRequest } from '@talaria/protocol';
import { toJsonSchema, type ValueOf } from './schema.ts';
import type { JsonSchema } from './standard-schema.ts';

/** What the model is told about a tool. */
export interface ToolDescription<Schema extends object = object> {
  readonly description?: string | undefined;
  /** A JSON schema, or a schema of a library that implements Standard Schema. */
  readonly parameters: Schema;
  /** The JSON schema of `parameters`, where their library cannot make one. */
  readonly jsonSchema?: JsonSchema | undefined;
  /** Not sent. */
  readonly execute?: ((...args: never[]) => unknown) | undefined;
}

export interface ClientTool<Schema extends object = object> extends ToolDescription<Schema> {
  /**
   * Returns the output for the model: text, or any value that JSON can hold. An error it throws is also sent to the
   * model, and the run continues.
   */
  execute(args: ValueOf<Schema, Record<string, unknown>>, context: ToolContext): unknown;
}

export interface ToolContext {
  readonly runId: string;
  readonly toolCallId: string;
  /** Aborts when nobody waits for the output any more: the run has ended, or the call was answered otherwise. */
  readonly signal: AbortSignal;
}

/** Tools by their names. */
export type ClientTools<Schemas> = { readonly [Name in keyof Schemas]: ClientTool<Schemas[Name] & object> };

export type AnyClientTools = Readonly<Record<string, ClientTool>>;

/** Infers the types of `execute` for a tool that is written outside the call that takes it. */
export function defineTool<Schema extends object>(tool: ClientTool<Schema>): ClientTool<Schema> {
  return tool;
}

export function toFunctionTools(tools: Readonly<Record<string, ToolDescription>>): FunctionToolRequest[] {
  return Object.entries(tools).map(([name, { description, parameters, jsonSchema }]) => ({
    type: 'function',
    function: {
      name,
      ...(description === undefined ? {} : { description }),
      parameters: jsonSchema ?? toJsonSchema(parameters, `The parameters of '${name}'`, BESIDE),
    },
  }));
}

const BESIDE = "Pass one as 'jsonSchema' beside them";
