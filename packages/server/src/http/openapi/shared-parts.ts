/** What several groups of routes have in common, for the OpenAPI document. */
import Type from 'typebox';

export const Limit = Type.Integer({ minimum: 1, maximum: 200, default: 50 });
/** Longer numbers of events are refused without a look. */
export const MAX_SEQ = 999_999_999_999_999;
export const After = Type.String({
  pattern: '^[A-Za-z0-9_-]{48}$',
  description: 'The next_cursor of the page before, under the same key',
});
/** The path of a file. */
export const FilePath = Type.String({ minLength: 1, description: 'Relative to the workspace' });
export const Path = Type.String({
  description: 'Relative to the workspace; the workspace itself by default',
});
