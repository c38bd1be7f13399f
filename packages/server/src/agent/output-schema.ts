/**
 * Schemas of clients: whether one can be used, and whether a value satisfies it. The server asks through schema-thread.ts.
 *
 * A regular expression in a schema can be made to run for hours. So every check has a time limit, which `vm` enforces also
 * inside a regular expression. A check that exceeds it counts as not satisfied.
 */
import { runInNewContext } from 'node:vm';
import type { ClientTool } from '@talaria/protocol';
import { Check, Compile, Errors, Meta, Pointer, type Validator } from 'typebox/schema';

/** The processor time that one check may take. */
const CHECK_MS = 100;
/** How many problems the model is told at once; the others usually follow from them. */
const PROBLEMS_MAX = 10;

/**
 * Says what a schema may be. Draft 7, because later drafts only add to what `items` and others may hold, apart from the name
 * `$defs`, and clients seldom name their draft. It is milder in two ways: more patterns can be used than the format allows, and
 * something twice in a list harms nobody.
 */
const DRAFT_7 = JSON.stringify(Meta['http://json-schema.org/draft-07/schema#'], (keyword, value) => {
  const isStrict =
    (keyword === 'format' && typeof value === 'string') || (keyword === 'uniqueItems' && value === true);
  return isStrict ? undefined : value;
});
let rules: Validator | undefined;

/** Why no answer can be checked against the schema; undefined if the schema is usable. */
export function schemaProblem(schema: Record<string, unknown>): string | undefined {
  const draft = draft7();
  try {
    return bounded(() => {
      const problem = malformed(schema, draft) ?? deadReference(schema, schema);
      if (problem === undefined) Check(checkable(schema), {});
      return problem;
    });
  } catch (error) {
    return (error as Error).message;
  }
}

/**
 * Why no model can call a tool with these parameters; undefined if one can. Nothing is checked against them here, so their
 * patterns may be in the dialect of another language, and schemas that take too long to look through are left to the provider.
 */
export function toolProblem(tools: readonly Pick<ClientTool, 'name' | 'parameters'>[]): string | undefined {
  const draft = draft7();
  const problemOf = (parameters: Record<string, unknown>) => {
    const problem = malformed(parameters, draft) ?? deadReference(parameters, parameters);
    if (problem !== undefined) return problem;
    const { type } = parameters;
    return type === 'object' ? undefined : `the type must be object, not ${JSON.stringify(type)}`;
  };
  try {
    return bounded(() =>
      firstOf(tools, ({ name, parameters }) => {
        const problem = problemOf(parameters);
        return problem === undefined ? undefined : `The parameters of '${name}' cannot be used: ${problem}`;
      }),
    );
  } catch {
    return undefined;
  }
}

/** Compiling is ours, and does not count as the time of a client's schema. */
function draft7(): Validator {
  rules ??= Compile(JSON.parse(DRAFT_7));
  return rules;
}

/** What a keyword holds that it may not hold, such as a type that does not exist: a check would ignore the keyword. */
function malformed({ $defs, ...schema }: Record<string, unknown>, draft: Validator): string | undefined {
  const [, [error]] = draft.Errors($defs === undefined ? schema : { ...schema, definitions: $defs });
  if (error === undefined) return undefined;
  const path = error.instancePath.replace(/^\/definitions/, $defs === undefined ? '$&' : '/$$defs');
  const allowed = 'allowedValues' in error.params ? `: ${error.params.allowedValues.join(', ')}` : '';
  return `${path === '' ? 'the schema' : path} ${error.message}${allowed}`;
}

/** A reference to a part of the schema that is not there: nothing satisfies it. */
function deadReference(root: Record<string, unknown>, value: unknown): string | undefined {
  if (Array.isArray(value)) return firstOf(value, (inner) => deadReference(root, inner));
  if (!isObject(value)) return undefined;
  // References in a part with its own id are relative to that part.
  if (value !== root && typeof value.$id === 'string') return undefined;
  const { $ref } = value;
  if (typeof $ref === 'string' && $ref.startsWith('#/') && !Pointer.Has(root, decodeURI($ref.slice(1)))) {
    return `the schema has no part ${$ref}`;
  }
  return firstOf(Object.entries(value), ([keyword, inner]) =>
    VALUES.has(keyword) ? undefined : deadReference(root, inner),
  );
}

function firstOf<T, R>(items: readonly T[], find: (item: T) => R | undefined): R | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** What is wrong with the value, in words for the model; undefined if it satisfies the schema. */
export function problemsOf(schema: Record<string, unknown>, value: unknown): string | undefined {
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
