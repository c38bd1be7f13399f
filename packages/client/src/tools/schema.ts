/** Schemas as callers give them: a JSON schema, a typebox schema (which is a JSON schema), or any Standard Schema. */
import type { TypeBoxValue } from '@talaria/protocol';
import {
  isStandardSchema,
  type JsonSchema,
  type StandardIssue,
  type StandardSchema,
} from './standard-schema.ts';

/** The type of a value that has passed the schema; `Plain` for a schema that carries no type. */
export type ValueOf<Schema, Plain> = Schema extends StandardSchema
  ? NonNullable<Schema['~standard']['types']>['output']
  : Schema extends { readonly '~kind': string }
    ? TypeBoxValue<Schema>
    : // As older versions of typebox have it.
      Schema extends { readonly static: infer Value; readonly params: unknown[] }
      ? Value
      : Plain;

/** In order of preference; a library throws for a draft that it does not know. */
const TARGETS = ['draft-2020-12', 'draft-07'];

/** `what` and `remedy` are for the error message: which schema it is, and what to do when it has no JSON form. */
export function toJsonSchema(schema: object, what: string, remedy: string): JsonSchema {
  if (!isStandardSchema(schema)) return schema as JsonSchema;
  const { jsonSchema, vendor } = schema['~standard'];
  let reason = 'its library does not make JSON schemas';
  for (const target of jsonSchema === undefined ? [] : TARGETS) {
    try {
      // The `$schema` field means nothing to a model.
      const { $schema: _, ...made } = jsonSchema!.input({ target });
      return made;
    } catch (error) {
      reason = error instanceof Error ? error.message : String(error);
    }
  }
  throw new TypeError(`${what} (${vendor}) cannot be sent as a JSON schema: ${reason}. ${remedy}`);
}

/** The value as the schema parses it. A JSON schema accepts everything: the client cannot validate against it. */
export async function readValue(
  schema: unknown,
  value: unknown,
): Promise<{ value: unknown } | { problem: string }> {
  if (!isStandardSchema(schema)) return { value };
  const result = await schema['~standard'].validate(value);
  if (result.issues === undefined) return { value: result.value };
  return { problem: result.issues.map(describeIssue).join('; ') };
}

function describeIssue({ message, path = [] }: StandardIssue): string {
  const keys = path.map((part) => String(typeof part === 'object' ? part.key : part));
  return keys.length === 0 ? message : `${keys.join('.')}: ${message}`;
}
