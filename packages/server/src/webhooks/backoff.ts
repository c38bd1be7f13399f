/**
 * When to retry a message: soon at first, for a receiver that is being restarted, then ever more rarely, for one that
 * is down for hours. About a dozen attempts in a day, and then no more.
 */
const FIRST_MS = 5_000;
const FACTOR = 4;
const LONGEST_MS = 4 * 3600 * 1000;
/** A delay is shorter or longer by this fraction, so that messages that failed together do not come back together. */
const JITTER = 0.25;

const GIVE_UP_AFTER_MS = 24 * 3600 * 1000;

/**
 * How long to wait after `attempts` failed attempts with a message that is `ageMs` old; undefined when it is given up.
 * `random` is from 0 to 1.
 */
export function retryDelayMs(attempts: number, ageMs: number, random: number): number | undefined {
  const delay = Math.min(LONGEST_MS, FIRST_MS * FACTOR ** (attempts - 1));
  const jittered = Math.round(delay * (1 - JITTER + 2 * JITTER * random));
  return ageMs + jittered > GIVE_UP_AFTER_MS ? undefined : jittered;
}
