/** What it means for a transaction that something failed. The codes are those of Postgres' table of errors. */
import pg from 'pg';

/** Nobody can be asked now, but soon maybe. */
export class Away extends Error {}

/** Two transactions were in each other's way and this one is to begin again: serialization, deadlock, lock timeout. */
export function isConflict(error: unknown): boolean {
  return hasCode(error, /^(40001|40P01|55P03)$/);
}

/**
 * The connection is gone, so what became of the last statement is not known. 08: connection exception; 57P0x: the server
 * shuts down, has crashed, or is starting; 25P03 and 25P04: it took the transaction for abandoned.
 */
export function isConnectionLoss(error: unknown): boolean {
  return isNetworkError(error) || hasCode(error, /^(08|57P0|25P03|25P04)/);
}

/**
 * The database cannot be written to now, but it may be soon, or another one in its place: it is away, full of
 * connections (53300), its disk is full (53100), or it takes no writes (25006), as a standby does.
 */
export function isAway(error: unknown): boolean {
  return error instanceof Away || isConnectionLoss(error) || hasCode(error, /^(53300|53100|25006)$/);
}

/** A newer server has changed a table since the statement was prepared on this connection. */
export function isStale(error: unknown): boolean {
  return hasCode(error, /^0A000$/) && (error as Error).message.startsWith('cached plan');
}

/** Nothing was heard for as long as we were ready to wait: there is nobody any more, or it takes longer. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout';
}

/** A host may have several addresses. When none of them answers, Node leaves the words to the errors of each. */
export function inWords(error: unknown): unknown {
  if (error instanceof AggregateError && error.message === '') {
    error.message = error.errors.map(({ message }: Error) => message).join('; ');
  }
  return error;
}

function hasCode(error: unknown, codes: RegExp): boolean {
  return error instanceof pg.DatabaseError && codes.test(error.code ?? '');
}

/** Also those of the library, which have no code. */
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
