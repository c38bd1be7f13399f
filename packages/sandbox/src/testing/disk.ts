/** The usual place for temporary files that are not in memory: a file in memory counts as memory, not as disk space. */
export const DISK = '/var/tmp';
