/**
 * The interface that schema libraries share (Standard Schema, version 1, with its extension for JSON schemas), as far
 * as this client uses it. It is copied here so that the client needs no package for it.
 */

export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    /** Not every library has it. */
    readonly jsonSchema?: { readonly input: (options: { readonly target: string }) => JsonSchema };
  };
}

export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

export type JsonSchema = Record<string, unknown>;

/** Schemas of some libraries are functions. */
export function isStandardSchema(value: unknown): value is StandardSchema {
  const holds = (typeof value === 'object' && value !== null) || typeof value === 'function';
  return holds && '~standard' in value;
}
