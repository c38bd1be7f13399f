/** Checking what a model passed to a tool. The messages go back to it, so they say what was expected and what came. */

export class InvalidArgumentError extends Error {}

type Arguments = Readonly<Record<string, unknown>>;

export function rejectUnknown(args: Arguments, known: readonly string[]): void {
  if (typeof args !== 'object' || args === null || Array.isArray(args)) {
    throw new InvalidArgumentError(`The arguments should be an object with ${known.join(', ')}.`);
  }
  const unknown = Object.keys(args).filter((name) => !known.includes(name));
  if (unknown.length === 0) return;
  throw new InvalidArgumentError(
    `Unknown argument ${unknown.join(', ')}; this tool takes ${known.join(', ')}.`,
  );
}

export function requiredString(args: Arguments, name: string): string {
  const value = optionalString(args, name);
  if (value === undefined) throw new InvalidArgumentError(`The argument ${name} is required.`);
  return value;
}

export function optionalString(args: Arguments, name: string): string | undefined {
  const value = given(args, name);
  if (value === undefined || typeof value === 'string') return value;
  throw wrongType(name, 'a string', value);
}

export function optionalPositive(args: Arguments, name: string): number | undefined {
  const value = given(args, name);
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isFinite(value) && value > 0) return value;
  throw wrongType(name, 'a number over 0', value);
}

export function optionalPositiveInteger(args: Arguments, name: string): number | undefined {
  const value = given(args, name);
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return value;
  throw wrongType(name, 'a whole number over 0', value);
}

export function optionalCount(args: Arguments, name: string): number | undefined {
  const value = given(args, name);
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw wrongType(name, 'a whole number, 0 or more', value);
}

export function optionalBoolean(args: Arguments, name: string): boolean | undefined {
  const value = given(args, name);
  if (value === undefined || typeof value === 'boolean') return value;
  throw wrongType(name, 'true or false', value);
}

const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

export function optionalEnvironment(args: Arguments, name: string): Record<string, string> {
  const value = given(args, name);
  if (value === undefined) return {};
  if (typeof value !== 'object' || Array.isArray(value)) throw wrongType(name, 'an object of strings', value);
  for (const [variable, content] of Object.entries(value as object)) {
    if (!VARIABLE_NAME.test(variable)) {
      throw new InvalidArgumentError(
        `${name} has ${JSON.stringify(variable)}, which cannot name a variable.`,
      );
    }
    if (typeof content !== 'string') throw wrongType(`${name}.${variable}`, 'a string', content);
    if (content.includes('\0'))
      throw new InvalidArgumentError(`${name}.${variable} contains a NUL character.`);
  }
  return value as Record<string, string>;
}

/** Models write null where they mean nothing. */
function given(args: Arguments, name: string): unknown {
  return args[name] ?? undefined;
}

function wrongType(name: string, expected: string, value: unknown): InvalidArgumentError {
  const got = Array.isArray(value)
    ? 'an array'
    : typeof value === 'number'
      ? String(value)
      : `a ${typeof value}`;
  return new InvalidArgumentError(`The argument ${name} should be ${expected}, not ${got}.`);
}
