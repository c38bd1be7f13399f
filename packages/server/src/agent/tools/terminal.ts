/** `terminal`: a shell command in the run's sandbox. The gate judges it, with what a stateful one continues from. */
import { terminal } from '@talaria/sandbox/tools';
import { agentTool } from './agent-tool.ts';
import { oneLine } from './one-line.ts';
import type { SandboxCall } from './sandbox-call.ts';
import { judgeStateful } from './shell-history.ts';
import type { Tool } from './tool.ts';

export function createTerminal(call: SandboxCall, maxTimeoutS: number): Tool {
  return agentTool(terminal, {
    maxTimeoutS,
    prepare(args, callsBefore) {
      const { timeout = maxTimeoutS, ...request } = args;
      const { command, stateful, background } = request;
      const timeoutS = Math.min(timeout, maxTimeoutS);
      return {
        preview: oneLine(command),
        command,
        ...(stateful ? { judged: judgeStateful(command, callsBefore()) } : {}),
        execute: (signal) =>
          background ? call('bash', args, signal) : call('bash', request, signal, timeoutS),
      };
    },
  });
}
