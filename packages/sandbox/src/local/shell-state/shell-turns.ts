/**
 * Stateful commands of a workspace run one after the other, in the order of their calls: each starts from the state
 * that the one before it left. A call that gives up waiting has no effect.
 */
import { type Patience, waitWithin } from '../patience.ts';

const last = new Map<string, Promise<void>>();

export interface ShellTurn extends Disposable {}

export async function takeShellTurn(
  key: string,
  patience: Patience,
): Promise<ShellTurn | 'timeout' | 'aborted'> {
  const before = last.get(key) ?? Promise.resolve();
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  const mine = before.then(() => over);
  last.set(key, mine);
  void mine.then(() => {
    if (last.get(key) === mine) last.delete(key);
  });
  const came = await waitWithin(before, patience);
  if (came === 'done') return { [Symbol.dispose]: end };
  end();
  return came;
}
