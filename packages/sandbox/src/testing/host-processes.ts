/**
 * Processes as the host sees them. Inside a slot other commands are invisible, so a test that looked there for
 * leftovers could not fail.
 */
import { readdirSync, readFileSync } from 'node:fs';

/** A duration that no other process sleeps for: a test finds the processes of its commands by it. */
export function uniqueSeconds(): string {
  return `${300 + Math.floor(Math.random() * 600)}.${process.pid}${Math.floor(Math.random() * 1e9)}`;
}

/** The command lines of living processes that have this text as a whole argument, not inside a script. */
export function processesWith(argument: string): string[] {
  return processIds()
    .map((pid) => readIfThere(`/proc/${pid}/cmdline`))
    .filter((cmdline) => cmdline.split('\0').includes(argument));
}

/** Children of this process that ended and were not waited for. */
export function zombieChildren(): string[] {
  return processIds().filter((pid) => {
    const [state, ppid] = readIfThere(`/proc/${pid}/stat`)
      .replace(/^.*\) /, '')
      .split(' ');
    return state === 'Z' && ppid === String(process.pid);
  });
}

function processIds(): string[] {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
