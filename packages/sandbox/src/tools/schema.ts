/**
 * Schemas of tool arguments, in the part of JSON Schema that every model provider takes. The type of the arguments follows
 * from the schema.
 */

/** A `pattern` for text that is not blank. */
export const NOT_BLANK = '\\S';

/** Settings that a description may mention. */
export interface ToolTerms {
  maxTimeoutS: number;
}

interface Described {
  description: string | ((terms: ToolTerms) => string);
}

export interface StringSchema extends Described {
  type: 'string';
  enum?: readonly string[];
  pattern?: typeof NOT_BLANK;
  minLength?: 1;
  maxLength?: number;
}

export interface NumberSchema extends Described {
  type: 'number' | 'integer';
  minimum: number;
  maximum?: number;
}

export interface BooleanSchema extends Described {
  type: 'boolean';
}

export interface ArraySchema extends Described {
  type: 'array';
  items: ObjectSchema;
  maxItems: number;
}

/** A text, or a list of texts. */
export interface TextsSchema extends Described {
  type: readonly ['string', 'array'];
  items: { type: 'string' };
  maxItems: number;
}

/** Names that the caller chooses, each with a text. */
export interface StringsSchema extends Described {
  type: 'object';
  additionalProperties: { type: 'string' };
}

export type PropertySchema =
  | StringSchema
  | NumberSchema
  | BooleanSchema
  | ArraySchema
  | TextsSchema
  | StringsSchema;

export interface ObjectSchema {
  type: 'object';
  properties: Readonly<Record<string, PropertySchema>>;
  required: readonly string[];
}

type ValueOf<Schema> = Schema extends { enum: readonly (infer Word)[] }
  ? Word
  : Schema extends { type: 'string' }
    ? string
    : Schema extends { type: 'number' | 'integer' }
      ? number
      : Schema extends { type: 'boolean' }
        ? boolean
        : Schema extends { type: readonly ['string', 'array'] }
          ? string | readonly string[]
          : Schema extends { items: infer Items extends ObjectSchema }
            ? ArgumentsOf<Items>[]
            : Readonly<Record<string, string>>;

type Required<Schema extends ObjectSchema> = keyof Schema['properties'] & Schema['required'][number];

export type ArgumentsOf<Schema extends ObjectSchema> = {
  readonly [Name in Required<Schema>]: ValueOf<Schema['properties'][Name]>;
} & {
  readonly [Name in Exclude<keyof Schema['properties'], Required<Schema>>]?: ValueOf<
    Schema['properties'][Name]
  >;
};
