/**
 * Floors of a command in a sandbox: the same shell with nothing to do, spawned directly and under bubblewrap, with its
 * outputs read to their end by the same process.
 *
 * Bubblewrap gets the options with which the backend made the sandbox of its keepers, read from its command line, and a
 * network of its own: what a command would cost if each had to make its own sandbox.
 */
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { waitFor } from '../../test/support/wait-for.ts';

const SHELL = ['bash', '-c', 'true'] as const;

interface CommandLine {
  program: string;
  args: readonly string[];
  env: Record<string, string>;
}

export function bareSpawn(): Promise<void> {
  const [program, ...args] = SHELL;
  return run({ program, args, env: { PATH: process.env.PATH ?? '' } });
}

/** Only while the backend is started: the directories that its commands see are deleted with it. */
export async function createBareBubblewrap(): Promise<() => Promise<void>> {
  const { program, args, env } = await waitFor('the sandbox of the keepers', findBubblewrap);
  const options = [...args.slice(0, args.indexOf('--')), '--unshare-net', '--'];
  return () => run({ program, args: [...options, ...SHELL], env });
}

/** The child of this process that is bubblewrap; the one below it has the same command line. */
function findBubblewrap(): CommandLine | undefined {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const [program, ...args] = read(`/proc/${pid}/cmdline`);
    if (program === undefined || !/(^|\/)bwrap$/.test(program) || !args.includes('--')) continue;
    if (!read(`/proc/${pid}/status`).join().includes(`PPid:\t${process.pid}\n`)) continue;
    const env = Object.fromEntries(read(`/proc/${pid}/environ`).map(splitVariable));
    return { program, args, env };
  }
  return undefined;
}

function splitVariable(text: string): [string, string] {
  const at = text.indexOf('=');
  return [text.slice(0, at), text.slice(at + 1)];
}

/** Splits a NUL-separated list from /proc; empty for a process that is gone. */
function read(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\0').filter(Boolean);
  } catch {
    return [];
  }
}

function run({ program, args, env }: CommandLine): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: '/', env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    for (const output of [child.stdout, child.stderr]) output.on('data', (part) => (said += part));
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve();
      else reject(new Error(`${program} exited with ${code}: ${said}`));
    });
  });
}
