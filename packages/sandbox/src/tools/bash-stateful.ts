/** `bash_stateful`: a command in the one shell of a slot that lives across calls. For the holder of a slot. */
import { defineTool } from './define-tool.ts';
import { NOT_BLANK } from './schema.ts';

export const bashStateful = defineTool({
  name: 'bash_stateful',
  description:
    'Run a shell command in the terminal of the slot: one shell that lives across calls. Directory, variables, jobs and ' +
    'background processes stay. The answer has what was printed since the last call. After a timeout the shell is ended, and ' +
    'the next call gets a new one.',
  schema: {
    type: 'object',
    properties: {
      command: { type: 'string', pattern: NOT_BLANK, description: 'The command to run' },
      timeout: {
        type: 'number',
        minimum: 0.001,
        description: ({ maxTimeoutS }) =>
          `Seconds before its shell is ended (at most ${maxTimeoutS}, which is also the default)`,
      },
      allow_network: {
        type: 'boolean',
        description:
          'false: without a network; true: fails if the sandbox has none. Another value than before begins a new shell',
      },
      require_stateful_sandbox: { type: 'boolean', description: 'Fails if nothing isolates commands' },
    },
    required: ['command'],
  },
  example: { command: 'cd src && export DEBUG=1' },
  refuse: ({ command }) =>
    command.includes('\0') ? { problem: "'command' contains a NUL character" } : undefined,
});
