import { APIError } from '@talaria/client';
import { CommandError } from '../../command-error.ts';

/** An older server has no such route; anything else is what it was. */
export function orUnsupported(error: unknown): unknown {
  const isMissing = error instanceof APIError && error.code === 'not_found';
  return isMissing ? new CommandError('This server does not keep what a run changed; it is too old') : error;
}
