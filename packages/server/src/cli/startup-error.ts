/**
 * Turns the error of a failed start into a line that says what to do. A stack trace helps nobody whose port is
 * taken; `TALARIA_LOG_LEVEL=debug` shows it. Secrets are masked: a driver may quote its settings.
 */
import { type Config, configSecrets, describeDatabase } from '../config/index.ts';
import { HIDDEN } from '../config/kinds/kinds.ts';

export function explainStartupError(error: unknown, config: Config): string {
  const failure = error instanceof Error ? (error as NodeJS.ErrnoException) : new Error(String(error));
  const debug = config.logLevel === 'debug' || config.logLevel === 'trace';
  const line = `Talaria could not start: ${explain(failure, config)}`;
  return mask(debug && failure.stack !== undefined ? `${line}\n${failure.stack}` : line, config);
}

/** What is wrong, and behind a semicolon what to do about it. */
export function explain(error: NodeJS.ErrnoException, config: Config): string {
  const { code, path } = error;
  const address = `${config.host} port ${config.port}`;
  if (code === 'EADDRINUSE') {
    return `${address} is in use by another program; stop that one, or choose another port with --port (0 takes any free one)`;
  }
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return `${config.host} is not an address of this machine (${code}); choose another with --host`;
  }
  if ((code === 'EACCES' || code === 'EPERM') && error.syscall === 'listen') {
    return `this user may not listen on ${address} (${code}); choose a port above 1023 with --port`;
  }
  if (code === 'ENOSPC') return `the disk of ${path ?? config.dataDir} is full (ENOSPC)`;
  if (code !== undefined && path !== undefined && /^E[A-Z]+$/.test(code)) {
    // No rights make a directory of a file.
    const remedy = code === 'ENOTDIR' ? 'choose' : 'make it writable for this user, or choose';
    return `${path} cannot be used (${code}); the data directory is ${config.dataDir}: ${remedy} another with --data-dir`;
  }
  if (code === 'ERR_SQLITE_ERROR') {
    return `the database ${describeDatabase(config.database)} cannot be used: ${firstLine(error)}`;
  }
  // The container's output comes after the first line, and is the only clue.
  if (code === 'container_failed') return error.message;
  return firstLine(error);
}

function firstLine(error: Error): string {
  return (error.message || error.name).split('\n', 1)[0]!;
}

function mask(text: string, config: Config): string {
  return configSecrets(config).reduce((masked, secret) => masked.replaceAll(secret, HIDDEN), text);
}
