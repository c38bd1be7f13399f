/** `terminal`: a shell command in the run's sandbox. */
import { NOT_BLANK } from './arguments.ts';
import { defineTool } from './define-tool.ts';
import { oneLine } from './one-line.ts';
import type { SandboxCall } from './sandbox-call.ts';
import { judgeStateful } from './shell-history.ts';
import type { Tool } from './tool.ts';

interface TerminalArguments {
  command: string;
  timeout?: number;
  workdir?: string;
  stateful?: boolean;
  background?: boolean;
}

export function createTerminal(call: SandboxCall, maxTimeoutS: number): Tool {
  return defineTool({
    tool: 'terminal',
    description:
      'Run a shell command with bash in the workspace and return its output and exit code. Each call is a new ' +
      'shell, and whatever it started ends with it. With stateful the shell goes on from the last stateful call: ' +
      'directory, variables and functions carry over. With background the call returns at once with the id of a ' +
      'process that goes on, for servers and long work; look after it with process. Dangerous commands may need ' +
      'approval by a person. To read, search and edit files prefer read_file, search_files and patch.',
    schema: {
      type: 'object',
      properties: {
        command: { type: 'string', pattern: NOT_BLANK, description: 'The command to run' },
        timeout: {
          type: 'number',
          minimum: 0.1,
          description: `Seconds before it is ended (at most ${maxTimeoutS}, which is also the default; in the background there is no limit unless you set one)`,
        },
        workdir: {
          type: 'string',
          pattern: NOT_BLANK,
          description: 'Directory to run in, relative to the workspace',
        },
        stateful: {
          type: 'boolean',
          description: 'Go on from the last stateful command, and leave directory, variables and functions',
        },
        background: {
          type: 'boolean',
          description: 'Leave it running; it ends with your task at the latest',
        },
      },
      required: ['command'],
    },
    example: { command: 'npm test', timeout: 120 },
    prepare(args, callsBefore) {
      const { command, timeout, stateful, background } = args as unknown as TerminalArguments;
      const { timeout: _, ...request } = args;
      const timeoutS = Math.min(timeout ?? maxTimeoutS, maxTimeoutS);
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
