/** The type of values that a typebox schema describes, for code that accepts such schemas without using typebox. */
import type { Static, TSchema } from 'typebox';

export type TypeBoxValue<Schema> = Schema extends TSchema ? Static<Schema> : never;
