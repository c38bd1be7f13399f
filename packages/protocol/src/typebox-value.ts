/** The values that a schema made with typebox describes, for code that is given such schemas without using typebox. */
import type { Static, TSchema } from 'typebox';

export type TypeBoxValue<Schema> = Schema extends TSchema ? Static<Schema> : never;
