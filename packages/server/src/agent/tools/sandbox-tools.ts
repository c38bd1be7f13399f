/** The tools that work in the run's sandbox. `@talaria/sandbox/tools` defines them. */
import { createFileTools } from './file-tools.ts';
import { createProcess } from './process.ts';
import type { SandboxCall } from './sandbox-call.ts';
import { createTerminal } from './terminal.ts';
import type { Tool } from './tool.ts';

export function createSandboxTools(call: SandboxCall, maxTimeoutS: number): Tool[] {
  return [createTerminal(call, maxTimeoutS), createProcess(call, maxTimeoutS), ...createFileTools(call)];
}
