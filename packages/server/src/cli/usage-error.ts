/** The command was called wrongly: it ends with 2, after saying what was expected. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
