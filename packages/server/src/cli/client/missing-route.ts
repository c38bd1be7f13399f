import { APIError, NotFoundError, type Talaria } from '@talaria/client';
import { CommandError } from '../command-error.ts';

/** Servers of the older dialect have fewer routes, or fewer methods of a path. A resource may be what is missing, too. */
export function isMissingRoute(error: unknown): error is APIError {
  return error instanceof APIError && (error.status === 404 || error.status === 405);
}

/**
 * What to say if a server does not know a route: `message`, or that no server is meant by this address. Servers of every
 * dialect answer `/health`.
 */
export async function missingRoute(client: Talaria, message: string): Promise<CommandError> {
  const isApi = await client.health.get().then(
    () => true,
    (error: unknown) => !(error instanceof NotFoundError),
  );
  if (isApi) return new CommandError(message);
  return new CommandError(
    `There is no API at ${client.baseUrl}; expected the address that the server prints`,
  );
}
