/**
 * The exit codes of the command. Scripts and service managers rely on these; docs/cli.md lists them, and a test
 * compares.
 *
 * The end of a run has its own codes, so that a script can tell a failed run from a failed command.
 */
export const EXITS = {
  ok: { code: 0, means: 'success; for `run` and `watch`: the run completed' },
  failed: {
    code: 1,
    means: 'failure: the server refused, a file is in the way, a check of `doctor` failed',
  },
  usage: {
    code: 2,
    means: 'wrong usage: an unknown command or flag, a configuration with problems',
  },
  runFailed: { code: 3, means: 'the run failed' },
  runCancelled: { code: 4, means: 'the run was cancelled' },
  unreachable: { code: 5, means: 'no server answered, or the connection was lost for too long' },
  refused: { code: 6, means: 'the server refused the API key, or asks for one' },
  conflicts: { code: 7, means: 'for `apply`: files were changed here, too, and nothing was applied' },
  hungUp: { code: 129, means: 'the terminal closed; a watched run continues' },
  interrupted: {
    code: 130,
    means: 'Ctrl-C; a watched run continues. For `serve`: a second signal ended it at once',
  },
  terminated: { code: 143, means: 'like 130, by `SIGTERM`' },
} as const;

/** Just the codes, by name. */
export const exitCodes = Object.fromEntries(
  Object.entries(EXITS).map(([name, { code }]) => [name, code]),
) as { readonly [Name in keyof typeof EXITS]: (typeof EXITS)[Name]['code'] };

export type EndingSignal = 'SIGHUP' | 'SIGINT' | 'SIGTERM';

/** As shells report a process that a signal ended: 128 plus its number. */
export const signalExitCodes: Readonly<Record<EndingSignal, number>> = {
  SIGHUP: exitCodes.hungUp,
  SIGINT: exitCodes.interrupted,
  SIGTERM: exitCodes.terminated,
};
