/** What several groups of routes have in common, for the OpenAPI document. */
import Type from 'typebox';

export const Limit = Type.Integer({ minimum: 1, maximum: 200, default: 50 });
export const After = Type.String({ description: 'The next_cursor of the page before' });
export const Path = Type.String({
  description: 'Relative to the workspace; the workspace itself by default',
});
