/**
 * The state that a stateful command leaves to the next one: one file per workspace, which commands cannot reach. So it
 * outlives them and the server, and is deleted with the workspace.
 *
 * A command writes its state into a named file in its /tmp, and only when it ends. It is used if it is complete; a
 * command that was ended, or that replaced its shell, leaves the state unchanged.
 */
import { randomUUID } from 'node:crypto';
import { open, readFile, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { WorkspacePathError } from '../../workspace/files/path-components.ts';
import { ignoreMissing, withFile } from '../../workspace/files/workspace-path.ts';
import type { Workspace } from '../../workspace/workspaces.ts';
import { STATE_END } from './stateful-script.ts';

/** Every stateful command reads it. Larger data belongs into a file. */
const MAX_BYTES = 4 * 1024 * 1024;

export function loadState({ stateDir }: Workspace): Promise<Buffer | undefined> {
  return ignoreMissing(readFile(statePath(stateDir)));
}

/** A name for the file in which a command leaves its state. */
export function leftStateName(): string {
  return `.talaria-shell-${randomUUID()}`;
}

/** Makes the file that the command left the new state, or returns why it cannot be. */
export async function keepState(
  { stateDir, tmpDir }: Workspace,
  leftName: string,
): Promise<string | undefined> {
  const left = await readLeft(tmpDir, leftName);
  if (typeof left === 'string') return left;
  const temporary = join(stateDir, `${leftName}.new`);
  const file = await open(temporary, 'wx', 0o600);
  try {
    await file.writeFile(left);
  } finally {
    await file.close();
  }
  await rename(temporary, statePath(stateDir));
  return undefined;
}

/** Removes the file that a command left, used or not. It ignores failures: only the command itself can have caused them. */
export async function dropLeft({ tmpDir }: Workspace, leftName: string): Promise<void> {
  await unlink(join(tmpDir, leftName)).catch(() => {});
}

async function readLeft(tmpDir: string, name: string): Promise<Buffer | string> {
  try {
    return await withFile(tmpDir, [name], async (file, { size }) => {
      if (size > MAX_BYTES) return `it takes ${size} bytes; allowed: up to ${MAX_BYTES}`;
      const bytes = await file.readFile();
      return isWhole(bytes) ? bytes : 'it could not be written to its end';
    });
  } catch (error) {
    if (!(error instanceof WorkspacePathError)) throw error;
    return 'its shell was replaced, was killed, or ended by an EXIT trap of its own';
  }
}

function isWhole(bytes: Buffer): boolean {
  return bytes.length <= MAX_BYTES && !bytes.includes(0) && bytes.toString('latin1').endsWith(STATE_END);
}

function statePath(stateDir: string): string {
  return join(stateDir, 'shell-state');
}
