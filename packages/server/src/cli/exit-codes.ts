/** How the command ends. Scripts and service managers rely on these. */
export const exitCodes = {
  ok: 0,
  /** It could not be done: a port in use, a directory that cannot be written. */
  failed: 1,
  /** It was asked for wrongly: an unknown command, a configuration with problems. */
  usage: 2,
  /** Ended by a second signal, as shells report it: 128 + the number of the signal. */
  interrupted: { SIGINT: 130, SIGTERM: 143 },
} as const;
