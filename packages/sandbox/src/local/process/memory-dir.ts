/**
 * Where small files without a name are made: in memory where the machine has such a place, so that making them in
 * place, not through the thread pool, waits for no disk.
 */
const MEMORY_DIR = '/dev/shm';

/** `elsewhere` is used where there is no such place, or no room in it. */
export function inMemoryOr<T>(elsewhere: string, make: (dir: string) => T): T {
  try {
    return make(MEMORY_DIR);
  } catch {
    return make(elsewhere);
  }
}
