/** `terminal`: a shell command in the run's sandbox. */
import { NOT_BLANK, oneLine } from './arguments.ts';
import { defineTool } from './define-tool.ts';
import type { SandboxCall } from './sandbox-call.ts';
import type { Tool } from './tool.ts';

interface TerminalArguments {
  command: string;
  timeout?: number;
  workdir?: string;
}

export function createTerminal(call: SandboxCall, maxTimeoutS: number): Tool {
  return defineTool({
    tool: 'terminal',
    description:
      'Run a shell command with bash in the workspace and return its output and exit code. Each call is a ' +
      'new shell: directory changes and variables do not carry over. Processes left in the background end ' +
      'with the call. Dangerous commands may need approval by a person. To read, search and edit files ' +
      'prefer read_file, search_files and patch.',
    schema: {
      type: 'object',
      properties: {
        command: { type: 'string', pattern: NOT_BLANK, description: 'The command to run' },
        timeout: {
          type: 'number',
          minimum: 0.1,
          description: `Seconds before it is ended (at most ${maxTimeoutS}, which is also the default)`,
        },
        workdir: {
          type: 'string',
          pattern: NOT_BLANK,
          description: 'Directory to run in, relative to the workspace',
        },
      },
      required: ['command'],
    },
    example: { command: 'npm test', timeout: 120 },
    prepare(args) {
      const { command, timeout, workdir } = args as unknown as TerminalArguments;
      const request = { command, ...(workdir === undefined ? {} : { workdir }) };
      const timeoutS = Math.min(timeout ?? maxTimeoutS, maxTimeoutS);
      return {
        preview: oneLine(command),
        command,
        execute: (signal) => call('bash', request, signal, timeoutS),
      };
    },
  });
}
