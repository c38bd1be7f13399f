/** Failures of an MCP server, for code that must not load the SDK. */

/** The message completes a sentence that begins with the name of the server; it is safe to show. */
export class ConnectFailure extends Error {
  override readonly name = 'ConnectFailure';
}

/**
 * unreached: the call never arrived. refused: the server answered that it will not do it. timeout, unknown: it may have
 * been carried out. stopped: nobody waits for it any more.
 */
export type CallFailureKind = 'unreached' | 'refused' | 'timeout' | 'unknown' | 'stopped';

export class CallFailure extends Error {
  override readonly name = 'CallFailure';
  readonly kind: CallFailureKind;

  constructor(kind: CallFailureKind, message: string) {
    super(message);
    this.kind = kind;
  }
}
