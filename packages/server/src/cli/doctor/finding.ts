/** What a check of `doctor` found. With a warning a server starts, but somebody should know. */
export interface Finding {
  readonly status: 'ok' | 'warning' | 'failed';
  /** What was found, in a few words. */
  readonly detail: string;
  /** More about it, a line each. */
  readonly facts?: readonly string[];
  /** What to do about it. */
  readonly fix?: string;
  /** The next command, if that is not to start a server. */
  readonly next?: string;
}
