/** The tools that work in the run's sandbox. */
import { createReadFile, createWriteFile } from './file-tools.ts';
import { createPatch } from './patch.ts';
import { createProcess } from './process.ts';
import type { SandboxCall } from './sandbox-call.ts';
import { createSearchFiles } from './search-files.ts';
import { createTerminal } from './terminal.ts';
import type { Tool } from './tool.ts';

export function createSandboxTools(call: SandboxCall, maxTimeoutS: number): Tool[] {
  return [
    createTerminal(call, maxTimeoutS),
    createProcess(call, maxTimeoutS),
    createReadFile(call),
    createWriteFile(call),
    createPatch(call),
    createSearchFiles(call),
  ];
}
