/**
 * Arguments are checked against the schema the model was given, in this one place: a tool reads them without looking
 * again. A wrong call is answered with everything that is wrong with it and with an example of a right one.
 *
 * Only what the schemas here use is understood, and only what every model provider takes.
 */
import { didYouMean } from '../../basics/nearest.ts';
import { InvalidArguments } from './tool.ts';

/** `pattern` for a text that says something. */
export const NOT_BLANK = '\\S';

interface Described {
  description: string;
}

interface StringSchema extends Described {
  type: 'string';
  enum?: readonly string[];
  pattern?: typeof NOT_BLANK;
  minLength?: 1;
  maxLength?: number;
}

interface NumberSchema extends Described {
  type: 'number' | 'integer';
  minimum: number;
  maximum?: number;
}

interface BooleanSchema extends Described {
  type: 'boolean';
}

interface ArraySchema extends Described {
  type: 'array';
  items: ObjectSchema;
  maxItems: number;
}

export interface ObjectSchema {
  type: 'object';
  properties: Readonly<Record<string, StringSchema | NumberSchema | BooleanSchema | ArraySchema>>;
  required: readonly string[];
}

export interface ArgumentRules {
  tool: string;
  schema: ObjectSchema;
  example: Readonly<Record<string, unknown>>;
}

/** The arguments without those that are null, which is how models write nothing. Throws `InvalidArguments`. */
export function checkArguments(
  { tool, schema, example }: ArgumentRules,
  args: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const problems: string[] = [];
  const checked = checkObject(schema, args, '', problems);
  if (problems.length === 0) return checked;
  throw wrongCall(tool, problems.join('; '), example);
}

export function wrongCall(tool: string, problem: string, example: Readonly<Record<string, unknown>>): Error {
  return new InvalidArguments(
    `Wrong arguments for ${tool}: ${problem}.\nExample of a call: ${JSON.stringify(example)}`,
  );
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
    const meant = didYouMean(name, names) || `; there are ${names.join(', ')}`;
    problems.push(`'${prefix}${name.slice(0, 100)}' is not an argument${meant}`);
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

function checkValue(
  schema: ObjectSchema['properties'][string],
  value: unknown,
  name: string,
  problems: string[],
): unknown {
  const wrong = (): undefined => {
    problems.push(`'${name}' must be ${expected(schema)}, not ${found(value)}`);
  };
  if (schema.type === 'array') {
    if (!Array.isArray(value) || value.length > schema.maxItems) return wrong();
    return value.map((item, index) => {
      if (isObject(item)) return checkObject(schema.items, item, `${name}[${index}].`, problems);
      problems.push(`'${name}[${index}]' must be an object, not ${found(item)}`);
      return {};
    });
  }
  return isScalar(schema, value) ? value : wrong();
}

function isScalar(schema: StringSchema | NumberSchema | BooleanSchema, value: unknown): boolean {
  switch (schema.type) {
    case 'string':
      return typeof value === 'string' && isText(schema, value);
    case 'boolean':
      return typeof value === 'boolean';
    default:
      return (
        typeof value === 'number' &&
        (schema.type === 'integer' ? Number.isSafeInteger(value) : Number.isFinite(value)) &&
        value >= schema.minimum &&
        value <= (schema.maximum ?? Number.POSITIVE_INFINITY)
      );
  }
}

function isText(schema: StringSchema, value: string): boolean {
  if (schema.enum !== undefined) return schema.enum.includes(value);
  if (schema.pattern !== undefined && value.trim() === '') return false;
  return (
    value.length >= (schema.minLength ?? 0) && value.length <= (schema.maxLength ?? Number.POSITIVE_INFINITY)
  );
}

function expected(schema: ObjectSchema['properties'][string]): string {
  switch (schema.type) {
    case 'string':
      if (schema.enum !== undefined) return `one of ${schema.enum.join(', ')}`;
      return `a${schema.pattern || schema.minLength ? ' non-empty' : ''} string${schema.maxLength ? ` of at most ${schema.maxLength} characters` : ''}`;
    case 'boolean':
      return 'true or false';
    case 'array':
      return `an array of at most ${schema.maxItems} objects`;
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
  return typeof value === 'object' ? 'an object' : String(value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
