/** The tools that work in the run's sandbox. */
import type { ToolBackend } from '@talaria/sandbox';
import { createReadFile, createWriteFile } from './file-tools.ts';
import { createPatch } from './patch.ts';
import { createSandboxCall, type GetSlot } from './sandbox-call.ts';
import { createSearchFiles } from './search-files.ts';
import { createTerminal } from './terminal.ts';
import type { Tool } from './tool.ts';

export interface SandboxToolOptions {
  backend: ToolBackend;
  getSlot: GetSlot;
  maxTimeoutS: number;
}

export function createSandboxTools({ backend, getSlot, maxTimeoutS }: SandboxToolOptions): Tool[] {
  const call = createSandboxCall(backend, getSlot);
  return [
    createTerminal(call, maxTimeoutS),
    createReadFile(call),
    createWriteFile(call),
    createPatch(call),
    createSearchFiles(call),
  ];
}
