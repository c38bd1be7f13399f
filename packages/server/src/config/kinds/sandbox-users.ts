/** The kernel users that sandbox slots run as: a word, or the first and the last of a range. */
import { type Kind, textKind } from './kinds.ts';

export type SandboxUsers = 'auto' | 'shared' | { first: number; last: number };

/** Lower numbers are accounts of the system; the highest means no user. */
const LOWEST = 1_000;
const HIGHEST = 2 ** 32 - 2;

export function sandboxUsers(): Kind<SandboxUsers> {
  return textKind<SandboxUsers>({
    name: 'auto | shared | FIRST-LAST',
    allowed: `auto, shared, or a range of user ids between ${LOWEST} and ${HIGHEST} such as 200000-265535`,
    read(text) {
      const word = text.trim().toLowerCase();
      if (word === 'auto' || word === 'shared') return { value: word };
      const [, first, last] = (/^(\d{1,10})-(\d{1,10})$/.exec(word) ?? []).map(Number);
      if (first === undefined || last === undefined) return { refused: '' };
      return LOWEST <= first && first <= last && last <= HIGHEST
        ? { value: { first, last } }
        : { refused: '' };
    },
    format: (users) => (typeof users === 'string' ? users : `${users.first}-${users.last}`),
  });
}
