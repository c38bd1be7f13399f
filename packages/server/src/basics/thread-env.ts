import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';

/**
 * The environment of a thread of this process. A thread does not inherit the compile cache of its process; half of its start is
 * compiling.
 */
export function threadEnv(): NodeJS.ProcessEnv {
  // The directory in use is a folder per Node version inside the given one.
  const directory = getCompileCacheDir();
  return directory === undefined ? process.env : { ...process.env, NODE_COMPILE_CACHE: dirname(directory) };
}
