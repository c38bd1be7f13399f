/** The resources that every container gets, on any platform, in addition to those that its commands may use. */
import type { Owner } from '../workspace/give-tree-to.ts';

const MEGABYTE = 1024 * 1024;

/** For files that the server, and programs that insist on /tmp, put there; it counts as memory. */
export const TMP_BYTES = 64 * MEGABYTE;
/** The kernel's own default: a daemon may have no permission to give more than it has. */
export const OPEN_FILES = 4_096;
/** For the server in the container: its memory, its threads, and the start of a command. */
export const SERVER_MEMORY_BYTES = 128 * MEGABYTE;
export const SERVER_PROCESSES = 64;
/** Unused on every system we know of: below it are accounts, above it the number that means nobody. */
export const SANDBOX_USER: Owner = { uid: 65_533, gid: 65_533 };
