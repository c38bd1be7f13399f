/** What the schemas of requests share. `requests.test.ts` compares them with what the server accepts. */
import Type, { type TSchema, type TSchemaOptions } from 'typebox';

/** A field that may be left out; null counts as absent. */
export const MayBeNull = <T extends TSchema>(schema: T, options: TSchemaOptions = {}) =>
  Type.Optional(Type.Union([schema, Type.Null()], options));

const CONTROLS = '\\u0000-\\u001f\\u007f-\\u009f';
/** Text of one line that is stored and shown. */
export const NO_CONTROLS = `^[^${CONTROLS}]*$`;
/** The same, and not only white space. */
export const NAME = `^[^${CONTROLS}]*[^${CONTROLS}\\s][^${CONTROLS}]*$`;
/** Text with at least one character that is no white space. */
export const NOT_BLANK = '\\S';

/** What the first step has to call. */
export const ToolChoiceField = Type.Optional(
  Type.Union([
    Type.Literal('auto'),
    Type.Literal('none'),
    Type.Literal('required'),
    Type.Literal('any'),
    Type.Record(Type.String(), Type.Unknown(), { minProperties: 1 }),
    Type.Null(),
  ]),
);

const OutputFormat = Type.Object({
  type: Type.Union([Type.Literal('text'), Type.Literal('json_object'), Type.Literal('json_schema')]),
});
export const OutputFormatField = MayBeNull(OutputFormat, {
  description: 'The output format: text, json_object or json_schema',
});
