/**
 * The first process of a container: a shell. It waits for the server as its parent and so reaps every orphan of the
 * container, which node would leave as zombies. The command of the server follows.
 */

/** The exit code of a container whose server was killed; one that is killed as a whole has the signal's. */
export const SERVER_KILLED = 99;

export const FIRST_PROCESS = ['/bin/sh', '-c', `"$@"; [ $? != 137 ] || exit ${SERVER_KILLED}; exit 1`, 'sh'];
