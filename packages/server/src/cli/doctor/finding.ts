/** What a check of `doctor` found. A warning is something a server starts with and somebody should know. */
export interface Finding {
  readonly status: 'ok' | 'warning' | 'failed';
  /** What was found, in a few words. */
  readonly detail: string;
  /** More about it, a line each. */
  readonly facts?: readonly string[];
  /** What to do about it. */
  readonly fix?: string;
  /** The command to go on with, where that is not to start a server. */
  readonly next?: string;
}
