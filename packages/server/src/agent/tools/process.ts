/**
 * `process`: manages what `terminal` left in the background. Only a write can make something run that nobody has judged
 * yet, so it is gated as the equivalent command: its program with that input.
 */
import { inputOf, process } from '@talaria/sandbox/tools';
import { agentTool } from './agent-tool.ts';
import { oneLine } from './one-line.ts';
import type { SandboxCall } from './sandbox-call.ts';
import { judgeInput, runningProcesses } from './shell-history.ts';
import type { PastCall, Tool } from './tool.ts';

export function createProcess(call: SandboxCall, maxTimeoutS: number): Tool {
  return agentTool(process, {
    maxTimeoutS,
    lostWithSandbox,
    prepare(args, callsBefore) {
      const { action, id = '', timeout = maxTimeoutS } = args;
      const input = action === 'write' ? inputOf(args) : '';
      const timeoutS = action === 'wait' ? Math.min(timeout, maxTimeoutS) : undefined;
      return {
        preview: oneLine(`${action} ${id} ${input}`),
        ...(input === '' ? {} : judgeInput(id, input, callsBefore())),
        execute: (signal) => call('process', args, signal, timeoutS),
      };
    },
  });
}

function lostWithSandbox(calls: readonly PastCall[]): string | undefined {
  const lost = runningProcesses(calls);
  if (lost.length === 0) return undefined;
  return `[The run continues in a new sandbox. These background processes have ended: ${lost.join(', ')}. Start again those that you still need. Files, and the state of stateful commands, are kept.]`;
}
