/**
 * What a failed command prints, and its exit code. Loaded only after a failure.
 *
 * Text for people: one line, with server text made safe to show. With `--json`: the same as `{"error": {"message",
 * "code", "status", "exit_code"}}`, one line, also on stderr.
 */
import {
  APIError,
  AuthenticationError,
  ConnectionError,
  PermissionError,
  StreamInterruptedError,
  TimeoutError,
} from '@talaria/client';
import type { Env } from '../config/environment.ts';
import { serverAddress } from './client/server-address.ts';
import { CommandError } from './command-error.ts';
import { exitCodes } from './exit-codes.ts';
import { safeJson, safeLine } from './text/safe-text.ts';

export interface Failure {
  readonly message: string;
  readonly code: string | null;
  readonly status: number | null;
  readonly exitCode: number;
}

/** Undefined for an unexpected error: a bug of the program itself. */
export function explainFailure(error: unknown, server: string | undefined, env: Env): Failure | undefined {
  const { url, keyName } = serverAddress(server, env);
  if (error instanceof CommandError) return failure(error.message, error.exitCode);
  if (error instanceof AuthenticationError) {
    const problem =
      keyName === undefined
        ? `The server at ${url} asks for an API key: set TALARIA_API_KEY`
        : `The server at ${url} refused the API key in ${keyName}`;
    return failure(problem, exitCodes.refused, error);
  }
  if (error instanceof PermissionError) {
    return failure(`The server at ${url} refused: ${error.message}`, exitCodes.refused, error);
  }
  if (error instanceof APIError) return failure(error.message, exitCodes.failed, error);
  if (error instanceof StreamInterruptedError) return failure(error.message, exitCodes.unreachable);
  if (error instanceof TimeoutError) {
    return failure(`The server at ${url} did not answer in time: ${error.message}`, exitCodes.unreachable);
  }
  if (error instanceof ConnectionError) return failure(explainConnection(error, url), exitCodes.unreachable);
  return undefined;
}

export function failureJson({ message, code, status, exitCode }: Failure): string {
  return safeJson({ error: { message, code, status, exit_code: exitCode } });
}

function failure(message: string, exitCode: number, answer?: APIError): Failure {
  return { message: safeLine(message), code: answer?.code ?? null, status: answer?.status ?? null, exitCode };
}

function explainConnection(error: ConnectionError, url: string): string {
  if (/ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH/.test(error.message)) {
    const [code] = /E[A-Z_]+/.exec(error.message)!;
    return `No server answers at ${url} (${code}); start one with talaria serve, or name another with --server or TALARIA_BASE_URL`;
  }
  if (/wrong.version.number|packet.length.too.long/i.test(error.message)) {
    return `The server at ${url} could not be asked: it speaks http, not https`;
  }
  return `The server at ${url} could not be asked: ${error.message}`;
}
