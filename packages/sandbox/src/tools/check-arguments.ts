/**
 * Checks what a model, or a client, passed to a tool against the schema of that tool. It reports everything that is
 * wrong at once, with what was expected and what came.
 */
import type { NumberSchema, ObjectSchema, PropertySchema, StringSchema } from './schema.ts';

/** A call that can never work; the message is for the caller. */
export class InvalidArguments extends Error {
  override readonly name = 'InvalidArguments';
}

/** Appends what is wrong to `problems`. Returns the arguments without nulls, which models write for absent values. */
export function checkArguments(
  schema: ObjectSchema,
  value: unknown,
  problems: string[],
): Record<string, unknown> {
  if (isObject(value)) return checkObject(schema, value, '', problems);
  const names = Object.keys(schema.properties).join(', ');
  problems.push(`the arguments must be an object with ${names}, not ${found(value)}`);
  return {};
}

function checkObject(
  schema: ObjectSchema,
  value: Readonly<Record<string, unknown>>,
  prefix: string,
  problems: string[],
): Record<string, unknown> {
  const names = Object.keys(schema.properties);
  const checked: Record<string, unknown> = {};
  for (const name of Object.keys(value)) {
    if (names.includes(name)) continue;
    problems.push(`'${prefix}${name.slice(0, 100)}' is not an argument; there are ${names.join(', ')}`);
  }
  for (const [name, property] of Object.entries(schema.properties)) {
    const given = Object.hasOwn(value, name) ? value[name] : undefined;
    if (given !== undefined && given !== null) {
      checked[name] = checkValue(property, given, prefix + name, problems);
    } else if (schema.required.includes(name)) {
      problems.push(`'${prefix}${name}' must be ${expected(property)}, and is missing`);
    }
  }
  return checked;
}

function checkValue(schema: PropertySchema, value: unknown, name: string, problems: string[]): unknown {
  const wrong = (): undefined => {
    problems.push(`'${name}' must be ${expected(schema)}, not ${found(value)}`);
  };
  if ('items' in schema && typeof schema.type !== 'string') {
    const isList = Array.isArray(value) && value.length <= schema.maxItems;
    if (typeof value === 'string' || (isList && value.every((each) => typeof each === 'string')))
      return value;
    return wrong();
  }
  switch (schema.type) {
    case 'array':
      if (!Array.isArray(value) || value.length > schema.maxItems) return wrong();
      return value.map((item, index) => {
        if (isObject(item)) return checkObject(schema.items, item, `${name}[${index}].`, problems);
        problems.push(`'${name}[${index}]' must be an object, not ${found(item)}`);
        return {};
      });
    case 'object':
      if (!isObject(value)) return wrong();
      for (const [key, text] of Object.entries(value)) {
        if (typeof text !== 'string')
          problems.push(`'${name}.${key.slice(0, 100)}' must be a string, not ${found(text)}`);
      }
      return { ...value };
    case 'string':
      return typeof value === 'string' && isText(schema, value) ? value : wrong();
    case 'boolean':
      return typeof value === 'boolean' ? value : wrong();
    default:
      return typeof value === 'number' && isNumber(schema, value) ? value : wrong();
  }
}

function isNumber(
  { type, minimum, maximum = Number.POSITIVE_INFINITY }: NumberSchema,
  value: number,
): boolean {
  const isKind = type === 'integer' ? Number.isSafeInteger(value) : Number.isFinite(value);
  return isKind && value >= minimum && value <= maximum;
}

function isText(schema: StringSchema, value: string): boolean {
  if (schema.enum !== undefined) return schema.enum.includes(value);
  if (schema.pattern !== undefined && value.trim() === '') return false;
  return (
    value.length >= (schema.minLength ?? 0) && value.length <= (schema.maxLength ?? Number.POSITIVE_INFINITY)
  );
}

function expected(schema: PropertySchema): string {
  if ('items' in schema && typeof schema.type !== 'string') {
    return `a string or an array of at most ${schema.maxItems} strings`;
  }
  switch (schema.type) {
    case 'string':
      if (schema.enum !== undefined) return `one of ${schema.enum.join(', ')}`;
      return `a${schema.pattern || schema.minLength ? ' non-empty' : ''} string${schema.maxLength ? ` of at most ${schema.maxLength} characters` : ''}`;
    case 'boolean':
      return 'true or false';
    case 'array':
      return `an array of at most ${schema.maxItems} objects`;
    case 'object':
      return 'an object of strings';
    default: {
      const most = schema.maximum === undefined ? '' : ` and at most ${schema.maximum}`;
      return `a ${schema.type === 'integer' ? 'whole number' : 'number'} of at least ${schema.minimum}${most}`;
    }
  }
}

function found(value: unknown): string {
  if (typeof value === 'string') {
    return value.length > 100 ? `a string of ${value.length} characters` : JSON.stringify(value);
  }
  if (Array.isArray(value)) return `an array of ${value.length}`;
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
