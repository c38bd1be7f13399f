/**
 * Starts the program of a command as a child of this process. It has its own standard error, so its own messages never
 * count as output. The script is passed in an unlinked file: an argument may not exceed 128 KB.
 */
import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { constants as os } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { withoutInherited } from './inherited.ts';
import { inMemoryOr, momentaryName } from './memory-dir.ts';
import type { CommandIo, Program, ProgramExit } from './program.ts';
import type { Exit } from './terminate.ts';

/** How much of the launched program's own messages is kept. */
const MESSAGE_LENGTH = 4_000;

export interface Launch {
  program: string;
  args: readonly string[];
  env: Record<string, string>;
  cwd: string;
  /** Descriptors that the program gets from 4 on; the caller still owns them. A pipe for errors comes after them. */
  entrances: readonly number[];
  /** Ends everything that the launched program started; true when nothing is left. */
  end(pid: number, exit: Exit): Promise<boolean>;
  /** Sends a signal to everything that the command has started and that still exists. */
  signal(pid: number, signal: NodeJS.Signals): void;
}

export function spawnProgram(launch: Launch, io: CommandIo): Program {
  const { output, errors, pipes } = io;
  const written = errors ? [output, errors] : [output];
  for (const { name } of written) pipes.removeName(name);
  const script = inMemoryOr(io.scriptDir, (dir) => openNameless(io.script, dir));
  const exit: Exit = { done: false };
  try {
    const child = spawn(launch.program, launch.args, {
      cwd: launch.cwd,
      env: launch.env,
      // Its own session: no terminal, and a group that can be named as a whole.
      detached: true,
      stdio: withoutInherited([
        io.input?.fd ?? 'ignore',
        output.write,
        'pipe',
        script,
        ...launch.entrances,
        ...(errors ? [errors.write] : []),
      ]),
    });
    const { pid } = child;
    const message = collectMessage(child.stderr);
    const exited = new Promise<ProgramExit>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code, signal) => {
        exit.done = true;
        resolve({
          code: code ?? (signal ? 128 + os.signals[signal] : null),
          isLost: false,
          started: code === 0 || wasRead(script),
          message,
          writtenBytes: 0,
        });
      });
    }).finally(() => closeSync(script));
    const program: Program = {
      pid,
      exited,
      end: async () => pid === undefined || launch.end(pid, exit),
      signal: (signal) => pid !== undefined && launch.signal(pid, signal),
    };
    if (pid !== undefined) io.onBegun(program);
    return program;
  } catch (error) {
    closeSync(script);
    throw error;
  } finally {
    // The command has it now; while the server held it too, the output would never end.
    for (const { write } of written) closeSync(write);
  }
}

/** Reads more than it keeps: a writer must not block on it. */
function collectMessage(stderr: Readable | null): () => string {
  let text = '';
  // Null if the spawn itself failed.
  stderr?.setEncoding('utf8').on('data', (part: string) => {
    text = (text + part).slice(0, MESSAGE_LENGTH);
  });
  return () => {
    stderr?.destroy();
    return text.trim();
  };
}

/** A descriptor that reads this text, from a file without a name. */
function openNameless(text: Uint8Array, dir: string): number {
  const path = join(dir, momentaryName('script'));
  const writer = openSync(path, 'wx', 0o600);
  try {
    writeFileSync(writer, text);
    return openSync(path, 'r');
  } finally {
    unlinkSync(path);
    closeSync(writer);
  }
}

/** The descriptor's offset is shared with the child, so it has moved once the child has read from it. */
function wasRead(script: number): boolean {
  return !/^pos:\s*0$/m.test(readFileSync(`/proc/self/fdinfo/${script}`, 'utf8'));
}
