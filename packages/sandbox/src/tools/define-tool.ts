/**
 * The one definition of a tool: its description for a model, and its arguments. Every part that may refuse a call uses
 * `check`: an agent before it asks for approval, a backend before it runs the call. So a wrong call is refused with the
 * same message everywhere.
 */
import { checkArguments, InvalidArguments } from './check-arguments.ts';
import type { ArgumentsOf, ObjectSchema, ToolTerms } from './schema.ts';

export interface ToolDefinition<Name extends string = string, Arguments = unknown> {
  readonly name: Name;
  readonly description: string;
  readonly schema: ObjectSchema;
  /** The arguments without nulls. Throws `InvalidArguments` for invalid ones. */
  check(args: unknown): Arguments;
}

export interface Refusal {
  problem: string;
  /** Shown in place of the usual example. */
  example?: Readonly<Record<string, unknown>>;
}

interface ToolParts<Name extends string, Schema extends ObjectSchema> {
  name: Name;
  description: string;
  schema: Schema;
  /** Valid arguments. */
  example: Readonly<Record<string, unknown>>;
  /** Checks what the schema cannot express. The arguments already fit the schema. */
  refuse?(args: ArgumentsOf<Schema>): Refusal | undefined;
}

export function defineTool<const Name extends string, const Schema extends ObjectSchema>({
  refuse,
  example,
  ...parts
}: ToolParts<Name, Schema>): ToolDefinition<Name, ArgumentsOf<Schema>> {
  return {
    ...parts,
    check(args) {
      const problems: string[] = [];
      const checked = checkArguments(parts.schema, args, problems) as ArgumentsOf<Schema>;
      if (problems.length > 0) throw wrongCall(parts.name, problems.join('; '), example);
      const refusal = refuse?.(checked);
      if (refusal) throw wrongCall(parts.name, refusal.problem, refusal.example ?? example);
      return checked;
    },
  };
}

export function wrongCall(
  tool: string,
  problem: string,
  example: Readonly<Record<string, unknown>>,
): InvalidArguments {
  return new InvalidArguments(
    `Wrong arguments for ${tool}: ${problem}.\nExample of a call: ${JSON.stringify(example)}`,
  );
}

/** The arguments of a tool as a JSON schema for a model. */
export function parametersOf({ schema }: ToolDefinition, terms: ToolTerms): Record<string, unknown> {
  const properties = Object.entries(schema.properties).map(([name, { description, ...rest }]) => [
    name,
    { ...rest, description: typeof description === 'string' ? description : description(terms) },
  ]);
  return { ...schema, properties: Object.fromEntries(properties) };
}
