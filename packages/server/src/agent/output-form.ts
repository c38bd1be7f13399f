/**
 * Answers with a requested format: what the model is told about the format, and whether its answer has it.
 *
 * The schema comes from the client, and a regular expression in it can be made to run for hours. So the check has a
 * time limit, which `vm` enforces also inside a regular expression. A check that exceeds it counts as not satisfied.
 */
import { runInNewContext } from 'node:vm';
import type { OutputForm } from '@talaria/protocol';
import { Check, Errors } from 'typebox/schema';

/** The processor time that one check may take. */
const CHECK_MS = 100;
/** How many problems the model is told at once; the others usually follow from them. */
const PROBLEMS_MAX = 10;

export type ReadOutput = { text: string; value: unknown } | { problem: string };

/** Part of the instructions. */
export function describeForm({ schema, name, description }: OutputForm): string {
  const about = [
    name === undefined ? '' : ` It is called ${name}.`,
    description ? ` ${description}` : '',
  ].join('');
  const wanted =
    schema === undefined
      ? 'one JSON object'
      : `one JSON value that satisfies this schema: ${JSON.stringify(schema)}`;
  return `Your final answer must be ${wanted}\nWrite nothing before or after it, and no code fence.${about}`;
}

/** Reads an answer; removes a code fence around it. */
export function readOutput(answer: string, { schema }: OutputForm): ReadOutput {
  const text = withoutFence(answer.trim());
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { problem: `it is not JSON: ${(error as Error).message}` };
  }
  if (schema === undefined) {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? { text, value } : { problem: 'it is not a JSON object' };
  }
  const problems = problemsOf(schema, value);
  return problems === undefined ? { text, value } : { problem: problems };
}

/** Why no answer can be checked against the schema; undefined if the schema is usable. */
export function schemaProblem(schema: Record<string, unknown>): string | undefined {
  try {
    bounded(() => Check(checkable(schema), {}));
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Keywords that hold values rather than schemas, and keywords that hold schemas under names that the client chose. */
const VALUES: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples']);
const BY_NAME: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions', 'dependentSchemas']);

/** With all patterns compiled: a check would compile only those that it reaches, and each in Unicode mode. */
function checkable(schema: Record<string, unknown>): Record<string, unknown> {
  return mapValues(schema, (inner, keyword) => {
    if (VALUES.has(keyword)) return inner;
    if (keyword === 'pattern' && typeof inner === 'string') return compiled(inner);
    if (keyword === 'patternProperties')
      for (const pattern of Object.keys(inner ?? {})) new RegExp(pattern, 'u');
    const byName = BY_NAME.has(keyword) || keyword === 'patternProperties';
    return byName && isObject(inner) ? mapValues(inner, checkableInner) : checkableInner(inner);
  });
}

function checkableInner(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(checkableInner);
  return isObject(value) ? checkable(value) : value;
}

/** Unicode mode refuses meaningless escapes such as `\-`, which many schemas contain. */
function compiled(pattern: string): RegExp {
  try {
    return new RegExp(pattern, 'u');
  } catch {
    return new RegExp(pattern);
  }
}

function mapValues(
  object: Record<string, unknown>,
  map: (value: unknown, name: string) => unknown,
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, map(value, name)]));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function problemsOf(schema: Record<string, unknown>, value: unknown): string | undefined {
  try {
    if (bounded(() => Check(checkable(schema), value))) return undefined;
    const [, errors] = bounded(() => Errors(checkable(schema), value));
    const said = errors.slice(0, PROBLEMS_MAX).map(({ instancePath, message }) => {
      return `${instancePath === '' ? 'the value' : instancePath} ${message}`;
    });
    return said.length === 0 ? 'it does not satisfy the schema' : said.join('; ');
  } catch (error) {
    return `it could not be checked against the schema: ${(error as Error).message}`;
  }
}

/**
 * The limit is meant for processor time, and the clock is only an estimate of it: on a busy machine it may run out
 * before the check has done anything. Such a check is repeated with more time on the clock.
 */
function bounded<T>(check: () => T): T {
  const begin = process.threadCpuUsage();
  for (let timeout = CHECK_MS; ; timeout *= 2) {
    try {
      return runInNewContext('check()', { check }, { timeout }) as T;
    } catch (error) {
      const { user, system } = process.threadCpuUsage(begin);
      const isLate = (error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
      if (!isLate || (user + system) / 1_000 >= CHECK_MS) throw error;
    }
  }
}

function withoutFence(text: string): string {
  return /^```[a-z]*\n([\s\S]*?)\n?```$/i.exec(text)?.[1]?.trim() ?? text;
}
