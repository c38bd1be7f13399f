/**
 * The format that an answer must have: any JSON object, or a value that satisfies a JSON schema. Runs, chat and
 * responses have different fields for it.
 */
import { TalariaError } from './errors.ts';

export interface OutputForm {
  /** Absent when any JSON object will do. */
  schema?: Record<string, unknown>;
  /** The client's name for it. */
  name?: string;
  description?: string;
  /**
   * The client wants its schema enforced while the model writes; the schema uses only what OpenAI's strict mode can
   * enforce.
   */
  strict?: true;
}

/** `output_schema` of a run. */
export function parseOutputSchema(value: unknown): OutputForm | undefined {
  if (value === undefined || value === null) return undefined;
  return { schema: asSchema(value, 'output_schema') };
}

/**
 * `response_format` of chat and `text.format` of responses. The second has the fields of the first's `json_schema` at
 * its top level.
 */
export function parseOutputFormat(value: unknown, param: string): OutputForm | undefined {
  if (value === undefined || value === null) return undefined;
  const format = isObject(value) ? value : {};
  switch (format.type) {
    case 'text':
      return undefined;
    case 'json_object':
      return {};
    case 'json_schema': {
      const given = isObject(format.json_schema) ? format.json_schema : format;
      const { name, description, strict } = given;
      return {
        schema: asSchema(given.schema ?? { type: 'object' }, param),
        ...(typeof name === 'string' ? { name } : {}),
        ...(typeof description === 'string' ? { description } : {}),
        ...(strict === true ? { strict } : {}),
      };
    }
    default:
      throw new TalariaError('invalid_output_schema', {
        message: `'${param}' must have the type text, json_object or json_schema`,
        param,
      });
  }
}

function asSchema(value: unknown, param: string): Record<string, unknown> {
  if (isObject(value)) return value;
  const message = `The schema in '${param}' must be a JSON object`;
  throw new TalariaError('invalid_output_schema', { message, param });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
