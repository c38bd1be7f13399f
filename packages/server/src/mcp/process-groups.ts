/**
 * The process groups of child processes: sends signals to a whole group, and leaves none behind when this process ends.
 * At a normal end it kills them itself. In case it is killed, a shell reads their numbers from a pipe that closes with
 * this process, and then kills the last ones it read.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';

/** A line lists all existing groups. A line that was cut off by the end is ignored. */
const WATCH = 'while read -r line; do groups=$line; done; for id in $groups; do kill -s KILL -- "-$id"; done';

const alive = new Set<number>();
let watcher: ChildProcess | undefined;

/** Until `forget`, the group is killed when this process ends. */
export function remember(groupId: number): void {
  if (alive.size === 0) process.on('exit', killAll);
  alive.add(groupId);
  watcher ??= startWatcher();
  tellWatcher();
}

export function forget(groupId: number): void {
  if (!alive.delete(groupId)) return;
  tellWatcher();
  if (alive.size > 0) return;
  process.off('exit', killAll);
  watcher?.stdin?.end();
  watcher = undefined;
}

export function signalGroup(groupId: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-groupId, signal);
  } catch {
    // All processes of the group have ended.
  }
}

function killAll(): void {
  for (const groupId of alive) signalGroup(groupId, 'SIGKILL');
}

function startWatcher(): ChildProcess {
  const child = spawn('/bin/sh', ['-c', WATCH], {
    cwd: '/',
    env: {},
    stdio: ['pipe', 'ignore', 'ignore'],
    // A signal that ends this process, such as from a key in the terminal, must not end it too.
    detached: true,
  });
  child.unref();
  // Without a shell a program only has the end of its standard input, and `dies-with-us.ts`.
  child.on('error', () => {});
  child.stdin.on('error', () => {});
  (child.stdin as Socket).unref();
  child.once('exit', () => {
    if (watcher === child) watcher = undefined;
  });
  return child;
}

function tellWatcher(): void {
  if (watcher?.stdin?.writable) watcher.stdin.write(`${[...alive].join(' ')}\n`);
}
