/** A command could not do its work. The message says why and what to do; there is no stack trace. */
import { exitCodes } from './exit-codes.ts';

export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: number;

  constructor(message: string, exitCode: number = exitCodes.failed) {
    super(message);
    this.exitCode = exitCode;
  }
}
