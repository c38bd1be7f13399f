/**
 * A command that somebody may run next, as it can be copied: it asks the same server as the present one. What the environment
 * says about the server holds for the next command, too.
 */
import { shellWord } from './shell-word.ts';

/** `server` is the flag of the present command. */
export function nextCommand(line: string, server: string | undefined): string {
  return server === undefined
    ? `talaria ${line}`
    : `talaria ${line} --server ${shellWord(withoutSecrets(server))}`;
}

/** A user and a password in an address are for nobody who looks over the shoulder. */
function withoutSecrets(server: string): string {
  const url = URL.parse(server);
  if (url === null || url.username + url.password === '') return server;
  url.username = '';
  url.password = '';
  return url.href;
}
