/** One side of a copy: a path of this machine, or of a run's workspace (`run_0193c7e8:src`). */
import { posix } from 'node:path';

export type Place =
  | { readonly kind: 'here'; readonly path: string }
  | { readonly kind: 'run'; readonly run: string; readonly path: string };

/** Without `run_` it takes a few digits more: files have colons, too. `./` before a path makes it one of this machine. */
const OF_RUN = /^(run_[0-9a-f]{1,32}|[0-9a-f]{6,32}):(.*)$/s;

export function parsePlace(word: string): Place {
  const [, run, path] = OF_RUN.exec(word) ?? [];
  return run === undefined || path === undefined
    ? { kind: 'here', path: word }
    : { kind: 'run', run, path: path.replace(/^\/workspace(?=\/|$)/, '') };
}

/** Relative to the workspace; '' is the workspace itself. A path that leads out of it stays one, for the server to refuse. */
export function workspacePath(path: string): string {
  return posix
    .normalize(`./${path}`)
    .replace(/^\.(\/|$)/, '')
    .replace(/\/$/, '');
}
