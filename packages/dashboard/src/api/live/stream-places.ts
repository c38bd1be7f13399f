/**
 * Decides which pages may hold a stream of a run. HTTP/1.1 allows a browser six connections to a server for all its tabs; the
 * feed holds one, and requests need some. So three pages of a browser hold a stream at a time, each with one of three locks,
 * which the browser takes from a page that closes.
 *
 * Locks need https or the address of this machine. Without them the page that has the focus holds a stream: there is
 * only one such page.
 */

/** For all servers of this origin: they share its connections. */
const NAMES = ['talaria stream 1', 'talaria stream 2', 'talaria stream 3'];

/** How long a hidden page keeps its place: short, but longer than a look at another tab. */
const HIDDEN_MS = 20_000;

export interface StreamPlace {
  /** Aborted when the page has to give its stream up. */
  lost: AbortSignal;
  release(): void;
}

/** Undefined if others have all places. */
export async function takePlace(): Promise<StreamPlace | undefined> {
  if (!('locks' in navigator)) return document.hasFocus() ? createPlace('focus', () => {}) : undefined;
  for (const name of NAMES) {
    const unlock = await tryLock(name);
    if (unlock !== undefined) return createPlace('lock', unlock);
  }
  return undefined;
}

function createPlace(by: 'lock' | 'focus', unlock: () => void): StreamPlace {
  const lost = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(() => lost.abort(), HIDDEN_MS);
  };
  const blur = () => lost.abort();
  look();
  document.addEventListener('visibilitychange', look);
  if (by === 'focus') addEventListener('blur', blur);
  return {
    lost: lost.signal,
    release() {
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', look);
      removeEventListener('blur', blur);
      unlock();
    },
  };
}

function tryLock(name: string): Promise<(() => void) | undefined> {
  return new Promise((resolve, reject) => {
    const hold = (lock: Lock | null) => {
      if (lock === null) return resolve(undefined);
      return new Promise<void>(resolve);
    };
    navigator.locks.request(name, { ifAvailable: true }, hold).catch(reject);
  });
}
