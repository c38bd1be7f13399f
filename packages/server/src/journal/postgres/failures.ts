/** Classifies failures of a transaction. The codes are from Postgres' table of error codes. */
import pg from 'pg';

/** Nobody can be asked now, but maybe soon. */
export class Away extends Error {}

/** Two transactions blocked each other and this one has to start again: serialization, deadlock, lock timeout. */
export function isConflict(error: unknown): boolean {
  return hasCode(error, /^(40001|40P01|55P03)$/);
}

/**
 * The connection is gone, so the outcome of the last statement is unknown. 08: connection exception; 57P0x: the server
 * shuts down, has crashed, or is starting; 25P03 and 25P04: it considered the transaction abandoned.
 */
export function isConnectionLoss(error: unknown): boolean {
  return isNetworkError(error) || hasCode(error, /^(08|57P0|25P03|25P04)/);
}

/**
 * The database cannot be written now, but maybe soon, or another one in its place can: it is unavailable, has no free
 * connections (53300), its disk is full (53100), or it accepts no writes (25006), like a standby.
 */
export function isAway(error: unknown): boolean {
  return error instanceof Away || isConnectionLoss(error) || hasCode(error, /^(53300|53100|25006)$/);
}

/** A newer server has changed a table since the statement was prepared on this connection. */
export function isStale(error: unknown): boolean {
  return hasCode(error, /^0A000$/) && (error as Error).message.startsWith('cached plan');
}

/** No answer came within the timeout: the server is gone, or needs longer. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout';
}

/** A host may have several addresses. When none of them answers, Node gives the reasons only in the error of each. */
export function inWords(error: unknown): unknown {
  if (error instanceof AggregateError && error.message === '') {
    error.message = error.errors.map(({ message }: Error) => message).join('; ');
  }
  return error;
}

function hasCode(error: unknown, codes: RegExp): boolean {
  return error instanceof pg.DatabaseError && codes.test(error.code ?? '');
}

/** Also for the library's errors, which have no code. */
function isNetworkError(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof pg.DatabaseError) return false;
  const { code } = error as NodeJS.ErrnoException;
  return (
    isUnanswered(error) ||
    (typeof code === 'string' && /^E(AI_)?[A-Z]+$/.test(code)) ||
    /Connection terminated|timeout exceeded when trying to connect|timeout expired|Client (has encountered|was closed)/.test(
      error.message,
    )
  );
}
