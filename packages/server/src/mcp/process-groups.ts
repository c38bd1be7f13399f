/** The process groups of child processes: signals to all of one, and none left behind when this process exits. */

const alive = new Set<number>();

/** Until `forget`, the group is killed when this process exits in whatever way it can notice. */
export function remember(groupId: number): void {
  if (alive.size === 0) process.on('exit', killAll);
  alive.add(groupId);
}

export function forget(groupId: number): void {
  if (alive.delete(groupId) && alive.size === 0) process.off('exit', killAll);
}

export function signalGroup(groupId: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-groupId, signal);
  } catch {
    // Nothing is left of it.
  }
}

function killAll(): void {
  for (const groupId of alive) signalGroup(groupId, 'SIGKILL');
}
