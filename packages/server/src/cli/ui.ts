/**
 * `talaria ui`: opens the server's web page with the key, or prints its address. The key is behind the `#`, which
 * browsers keep to themselves; the page removes it from the address at once.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { ConnectionError, TimeoutError } from '@talaria/client';
import type { Env } from '../config/environment.ts';
import { connect } from './client/connect.ts';
import { serverAddress } from './client/server-address.ts';
import { CommandError } from './command-error.ts';
import type { Arguments } from './commands.ts';
import { exitCodes } from './exit-codes.ts';
import type { Terminal } from './terminal.ts';

const PAGE_TIMEOUT_MS = 10_000;

export async function openUi(args: Arguments<'ui'>, terminal: Terminal): Promise<number> {
  const { baseUrl } = connect(args, terminal);
  const page = `${baseUrl}/ui/`;
  await expectPage(page);
  const { apiKey } = serverAddress(args.server, terminal.env);
  const address = apiKey === undefined ? page : `${page}#${new URLSearchParams({ key: apiKey })}`;
  const opener = args.print || !terminal.stdout.isTerminal ? undefined : browserCommand(terminal.env);
  if (opener !== undefined && (await opens(opener, address))) terminal.out(`Opened ${page}`);
  else terminal.out(address);
  return exitCodes.ok;
}

async function expectPage(page: string): Promise<void> {
  const response = await fetch(page, {
    headers: { accept: 'text/html' },
    signal: AbortSignal.timeout(PAGE_TIMEOUT_MS),
  }).catch((error: unknown) => {
    throw asClientError(error as Error);
  });
  await response.body?.cancel();
  if (response.status === 503)
    throw new CommandError(`The page of this server is not built: run npm run build:ui there`);
  if (!response.ok) throw new CommandError(`The server at ${page} has no web page (${response.status})`);
}

/** The errors of the client, which every command explains alike. */
function asClientError(error: Error): Error {
  if (error.name === 'TimeoutError')
    return new TimeoutError(`Nothing came from the server for ${PAGE_TIMEOUT_MS} ms`);
  const { code, message } = (error.cause ?? error) as NodeJS.ErrnoException;
  return new ConnectionError(code ?? message, { cause: error });
}

/** Undefined where no browser can be expected, such as over ssh. */
function browserCommand(env: Env, platform = process.platform): readonly string[] | undefined {
  if (platform === 'darwin') return ['open'];
  if (platform === 'win32') return ['explorer.exe'];
  return env.DISPLAY || env.WAYLAND_DISPLAY ? ['xdg-open'] : undefined;
}

async function opens([program = '', ...words]: readonly string[], address: string): Promise<boolean> {
  const child = spawn(program, [...words, address], { stdio: 'ignore', detached: true });
  child.unref();
  try {
    await once(child, 'spawn');
    return true;
  } catch {
    return false;
  }
}
