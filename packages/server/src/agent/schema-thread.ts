/**
 * Checks of schemas that come from clients, in a thread: compiling thousands of patterns takes a while, and other keys must not wait
 * for it. output-schema.ts says what is checked. The thread has one check at a time, so if it dies of one, no other fails with it.
 */
import type { ClientTool } from '@talaria/protocol';
import { JobThread } from '../basics/job-thread.ts';

export type SchemaQuestion =
  | { ask: 'schema'; schema: Record<string, unknown> }
  | { ask: 'tools'; tools: readonly Pick<ClientTool, 'name' | 'parameters'>[] }
  | { ask: 'value'; schema: Record<string, unknown>; value: unknown };

/** Several times what a schema as large as a request takes. */
const MEMORY_MB = 256;

const thread = new JobThread<SchemaQuestion, string | undefined>({
  beside: import.meta.url,
  program: 'schema-thread-program',
  atOnce: 1,
  memoryMb: MEMORY_MB,
});

/** Why no answer can be checked against the schema; undefined if the schema is usable. */
export async function schemaProblem(
  owner: string,
  schema: Record<string, unknown>,
): Promise<string | undefined> {
  return ask(owner, { ask: 'schema', schema }).catch((error: Error) => error.message);
}

/** Why no model can call these tools. Tools that cannot be looked through are left to the provider. */
export async function toolProblem(
  owner: string,
  tools: readonly Pick<ClientTool, 'name' | 'parameters'>[],
): Promise<string | undefined> {
  return ask(owner, { ask: 'tools', tools }).catch(() => undefined);
}

/** What is wrong with the value, in words for the model; undefined if it satisfies the schema. */
export async function valueProblem(
  owner: string,
  schema: Record<string, unknown>,
  value: unknown,
): Promise<string | undefined> {
  return ask(owner, { ask: 'value', schema, value }).catch(
    (error: Error) => `it could not be checked against the schema: ${error.message}`,
  );
}

function ask(owner: string, question: SchemaQuestion): Promise<string | undefined> {
  return thread.ask({ name: owner, size: 1 }, () => ({ question }));
}
