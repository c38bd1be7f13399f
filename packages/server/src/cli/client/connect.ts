/** The client the commands use. */
import { Talaria } from '@talaria/client';
import type { Terminal } from '../terminal.ts';
import { UsageError } from '../usage-error.ts';
import { serverAddress } from './server-address.ts';

/** A person hears at once that no server is there, without retries. */
const MAX_RETRIES = 0;

export function connect(
  args: { readonly server: string | undefined },
  { env }: Pick<Terminal, 'env'>,
): Talaria {
  const { url, apiKey = null } = serverAddress(args.server, env);
  try {
    return new Talaria({ baseUrl: url, apiKey, maxRetries: MAX_RETRIES });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    if (!/^baseUrl/.test(error.message)) throw new UsageError(error.message);
    const name = args.server === undefined ? 'TALARIA_BASE_URL' : '--server';
    // Before an @ may be a password.
    const shown = url.includes('@') ? name : `${name} ${JSON.stringify(url)}`;
    throw new UsageError(`${shown} is not the address of a server; expected http://host:port`);
  }
}
