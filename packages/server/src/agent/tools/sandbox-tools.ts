/** The tools that work in the run's sandbox: `terminal`, `read_file`, `write_file`. */
import { type ExecutionResult, SandboxError, type Slot, type ToolBackend } from '@talaria/sandbox';
import { InvalidArguments, type PreparedCall, type Tool, type ToolOutcome } from './tool.ts';

/** Gives the slot of the run, acquiring it at the first call. */
export type GetSlot = () => Promise<Slot>;

export interface SandboxToolOptions {
  backend: ToolBackend;
  getSlot: GetSlot;
  maxTimeoutS: number;
}

export function createSandboxTools(options: SandboxToolOptions): Tool[] {
  const run = async (
    tool: string,
    args: Record<string, unknown>,
    signal: AbortSignal,
    timeoutS?: number,
  ): Promise<ToolOutcome> => {
    try {
      const slot = await options.getSlot();
      const results = await options.backend.executeBatch([[slot, tool, args]], { signal, timeoutS });
      return toOutcome(results[0]!);
    } catch (error) {
      if (!(error instanceof SandboxError)) throw error;
      return { output: `The sandbox is not available: ${error.message}`, isError: true };
    }
  };
  return [terminal(run, options.maxTimeoutS), readFile(run), writeFile(run)];
}

type Run = (
  tool: string,
  args: Record<string, unknown>,
  signal: AbortSignal,
  timeoutS?: number,
) => Promise<ToolOutcome>;

function terminal(run: Run, maxTimeoutS: number): Tool {
  return {
    definition: {
      name: 'terminal',
      description:
        'Run a shell command with bash in the workspace and return its output and exit code. Each call is a ' +
        'new shell: directory changes and variables do not carry over. Processes left in the background end ' +
        'with the call. Dangerous commands may need approval by a person.',
      parameters: {
        type: 'object',
        properties: {
          command: { type: 'string', description: 'The command to run' },
          timeout: { type: 'number', description: `Seconds before it is ended (at most ${maxTimeoutS})` },
          workdir: { type: 'string', description: 'Directory to run in, relative to the workspace' },
        },
        required: ['command'],
      },
    },
    prepare(args): PreparedCall {
      const command = requiredString(args, 'command');
      const timeout = optionalNumber(args, 'timeout');
      const workdir = optionalString(args, 'workdir');
      const request = { command, ...(workdir === undefined ? {} : { workdir }) };
      const timeoutS = Math.min(timeout ?? maxTimeoutS, maxTimeoutS);
      return {
        preview: oneLine(command),
        command,
        execute: (signal) => run('bash', request, signal, timeoutS),
      };
    },
  };
}

function readFile(run: Run): Tool {
  return {
    definition: {
      name: 'read_file',
      description: 'Read a text file in the workspace.',
      parameters: {
        type: 'object',
        properties: {
          path: { type: 'string', description: 'Path, relative to the workspace' },
          offset: { type: 'integer', description: 'First line to return, counted from 1' },
          limit: { type: 'integer', description: 'How many lines to return' },
        },
        required: ['path'],
      },
    },
    prepare(args): PreparedCall {
      const path = requiredString(args, 'path');
      const request: Record<string, unknown> = { path };
      for (const name of ['offset', 'limit']) {
        const value = optionalNumber(args, name);
        if (value !== undefined) request[name] = value;
      }
      return { preview: oneLine(path), execute: (signal) => run('read_file', request, signal) };
    },
  };
}

function writeFile(run: Run): Tool {
  return {
    definition: {
      name: 'write_file',
      description:
        'Write a text file in the workspace, replacing it if it exists. Creates directories as needed.',
      parameters: {
        type: 'object',
        properties: {
          path: { type: 'string', description: 'Path, relative to the workspace' },
          content: { type: 'string', description: 'The whole content of the file' },
        },
        required: ['path', 'content'],
      },
    },
    prepare(args): PreparedCall {
      const path = requiredString(args, 'path');
      if (typeof args.content !== 'string') throw new InvalidArguments("'content' must be a string");
      const request = { path, content: args.content };
      return { preview: oneLine(path), execute: (signal) => run('write_file', request, signal) };
    },
  };
}

function toOutcome(result: ExecutionResult): ToolOutcome {
  const { exit_code: exitCode } = result.metadata;
  const parts = [result.output];
  if (result.error !== '') parts.push(result.error);
  else if (exitCode !== undefined && exitCode !== 0) parts.push(`[exit code ${exitCode}]`);
  return { output: parts.filter((part) => part !== '').join('\n'), isError: !result.success, exitCode };
}

function requiredString(args: Record<string, unknown>, name: string): string {
  const value = args[name];
  if (typeof value !== 'string' || value.trim() === '') {
    throw new InvalidArguments(`'${name}' must be a non-empty string`);
  }
  return value;
}

function optionalString(args: Record<string, unknown>, name: string): string | undefined {
  const value = args[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw new InvalidArguments(`'${name}' must be a string`);
  return value;
}

function optionalNumber(args: Record<string, unknown>, name: string): number | undefined {
  const value = args[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'number' || !Number.isFinite(value) || value <= 0) {
    throw new InvalidArguments(`'${name}' must be a number greater than 0`);
  }
  return value;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
