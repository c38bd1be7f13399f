/** The answer of a run as its schema parses it. */
import type { Run } from '@talaria/protocol';
import { InvalidOutputError } from '../errors.ts';
import { readValue, type ValueOf } from './schema.ts';
import { isStandardSchema } from './standard-schema.ts';

/** `output_parsed` has the type of the given schema. Without a schema the type is a plain run. */
export type RunWith<Schema> = [Schema] extends [undefined]
  ? Run
  : Omit<Run, 'output_parsed'> & { output_parsed?: ValueOf<Schema, unknown> };

/**
 * The server has checked the answer against the JSON schema. A library's schema may check more than that, and may
 * convert the value, for example to a date.
 */
export async function withParsedOutput<Schema>(run: Run, schema: Schema): Promise<RunWith<Schema>> {
  const isParsed = run.status === 'completed' && isStandardSchema(schema);
  if (!isParsed) return run as RunWith<Schema>;
  const read = await readValue(schema, run.output_parsed);
  if ('problem' in read) throw new InvalidOutputError(run, read.problem);
  return { ...run, output_parsed: read.value } as RunWith<Schema>;
}
