/** The tables of docs/errors.md, from the error codes. */
import { API_ERRORS, RUN_FAILURES } from '@talaria/protocol';
import { table } from './marked-part.ts';

export function apiErrorTable(): string {
  const rows = Object.entries(API_ERRORS).map(([code, { status, retryable, message }]) => [
    `\`${code}\``,
    String(status),
    retryable ? 'yes' : 'no',
    message,
  ]);
  return table(['code', 'status', 'retryable', 'message'], rows);
}

export function runFailureTable(): string {
  return table(
    ['code', 'meaning'],
    Object.entries(RUN_FAILURES).map(([code, meaning]) => [`\`${code}\``, meaning]),
  );
}
