/** A shell command: `bash` for the holder of a slot, `terminal` for a model. */
import { canBeInWorkspace } from '../workspace/files/path-components.ts';
import { defineTool, type Refusal } from './define-tool.ts';
import { NOT_BLANK } from './schema.ts';

const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

const DESCRIPTION =
  'Run a shell command with bash in the workspace and return its output and exit code. Each call is a new ' +
  'shell, and whatever it started ends with it. With stateful the shell continues from the last stateful call: ' +
  'directory, variables and functions carry over. With background the call returns at once with the id of a ' +
  'process that keeps running, for servers and long work; look after it with process. Dangerous commands may need ' +
  'approval by a person. To read, search and edit files prefer read_file, search_files and patch.';

const PROPERTIES = {
  command: { type: 'string', pattern: NOT_BLANK, description: 'The command to run' },
  timeout: {
    type: 'number',
    minimum: 0.001,
    description: ({ maxTimeoutS }: { maxTimeoutS: number }) =>
      `Seconds before it is ended (at most ${maxTimeoutS}, which is also the default; in the background there is no limit unless you set one)`,
  },
  workdir: { type: 'string', minLength: 1, description: 'Directory to run in, relative to the workspace' },
  stateful: {
    type: 'boolean',
    description: 'Continue from the last stateful command, and leave directory, variables and functions',
  },
  background: { type: 'boolean', description: 'Leave it running; it ends with your task at the latest' },
} as const;

/**
 * What the holder of a slot may ask besides. A model may not: it could give itself a network, or make a harmless command
 * run anything with a variable.
 */
const HOLDER_PROPERTIES = {
  env: {
    type: 'object',
    additionalProperties: { type: 'string' },
    description: 'Variables of the command, besides the usual ones',
  },
  stderr: {
    type: 'string',
    enum: ['merged', 'after'],
    description:
      'merged: standard error is in the output, in order; after: it follows the output, under a line [stderr]',
  },
  allow_network: {
    type: 'boolean',
    description: 'false: without a network; true: fails if the sandbox has none',
  },
  require_sandbox: { type: 'boolean', description: 'Fails if nothing isolates commands' },
} as const;

const EXAMPLE = { command: 'npm test', timeout: 120 };

interface CommandArguments {
  readonly command: string;
  readonly workdir?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly stderr?: 'merged' | 'after';
  readonly stateful?: boolean;
  readonly background?: boolean;
}

export const bash = defineTool({
  name: 'bash',
  description: DESCRIPTION,
  schema: {
    type: 'object',
    properties: { ...PROPERTIES, ...HOLDER_PROPERTIES },
    required: ['command'],
  },
  example: EXAMPLE,
  refuse: refuseCommand,
});

export const terminal = defineTool({
  name: 'terminal',
  description: DESCRIPTION,
  schema: { type: 'object', properties: PROPERTIES, required: ['command'] },
  example: EXAMPLE,
  refuse: refuseCommand,
});

function refuseCommand(args: CommandArguments): Refusal | undefined {
  const { command, workdir, env = {}, stderr, stateful = false, background = false } = args;
  if (stderr === 'after' && (stateful || background))
    return { problem: "'stderr' is for commands that are neither stateful nor in the background" };
  if (command.includes('\0')) return { problem: "'command' contains a NUL character" };
  if (workdir !== undefined && !canBeInWorkspace(workdir))
    return {
      problem: `'workdir' must be a path in the workspace, not ${JSON.stringify(workdir.slice(0, 100))}`,
    };
  for (const [name, text] of Object.entries(env)) {
    if (!VARIABLE_NAME.test(name))
      return { problem: `'env' has ${JSON.stringify(name)}, which cannot name a variable` };
    if (text.includes('\0')) return { problem: `'env.${name}' contains a NUL character` };
  }
  return undefined;
}
