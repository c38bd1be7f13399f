/** `process`: manages what `bash` left in the background. */
import { defineTool, type Refusal } from './define-tool.ts';
import { NOT_BLANK } from './schema.ts';

const MAX_WRITE_BYTES = 1024 * 1024;

/** The arguments that each action takes besides `action`. */
const TAKES = {
  list: [],
  poll: ['id'],
  log: ['id', 'offset', 'limit'],
  wait: ['id', 'timeout'],
  write: ['id', 'data', 'enter', 'eof'],
  kill: ['id', 'signal'],
} as const;
type Action = keyof typeof TAKES;
const ACTIONS = Object.keys(TAKES) as Action[];

const EXAMPLE = { action: 'wait', id: 'proc_0123456789', timeout: 60 };
const WRITE_EXAMPLE = { action: 'write', id: 'proc_0123456789', data: 'yes', enter: true };

interface ProcessArguments {
  readonly action: Action;
  readonly id?: string;
  readonly data?: string;
  readonly enter?: boolean;
  readonly eof?: boolean;
}

export const process = defineTool({
  name: 'process',
  description:
    'Look after the processes that terminal started in the background. list shows them; poll gives the status and ' +
    'the output since the last time; log gives lines of the whole output, by default the last ones; wait waits for ' +
    'the end; write sends data to the standard input; kill ends it and all it started. They all end with your ' +
    'task, and do not survive a restart of the server.',
  schema: {
    type: 'object',
    properties: {
      action: { type: 'string', enum: ACTIONS, description: 'What to do' },
      id: { type: 'string', pattern: NOT_BLANK, description: 'Which process; not for list' },
      timeout: {
        type: 'number',
        minimum: 0.001,
        description: ({ maxTimeoutS }) =>
          `wait: seconds after which to return although it still runs (at most ${maxTimeoutS}, which is also the default)`,
      },
      data: { type: 'string', description: 'write: what to send, exactly' },
      enter: { type: 'boolean', description: 'write: a line end after it' },
      eof: { type: 'boolean', description: 'write: close its standard input after it' },
      signal: {
        type: 'string',
        enum: ['TERM', 'INT', 'KILL'],
        description: 'kill: how to ask, TERM by default; after 3 seconds it is killed whatever it does',
      },
      offset: { type: 'integer', minimum: 1, description: 'log: first line, counted from 1' },
      limit: { type: 'integer', minimum: 1, description: 'log: how many lines (200 by default)' },
    },
    required: ['action'],
  },
  example: EXAMPLE,
  refuse: (args) => refuseOthers(args) ?? refuseWrite(args),
});

/** The input that the process gets from a write. */
export function inputOf({ data, enter }: { readonly data?: string; readonly enter?: boolean }): string {
  return `${data ?? ''}${enter ? '\n' : ''}`;
}

/** Refuses arguments of other actions, and a missing process. */
function refuseOthers(args: ProcessArguments): Refusal | undefined {
  const { action } = args;
  const takes: readonly string[] = TAKES[action];
  const others = Object.keys(args).filter((name) => name !== 'action' && !takes.includes(name));
  if (others.length > 0) {
    const taken = takes.length === 0 ? 'nothing else' : takes.join(', ');
    const problem = `the action ${action} takes ${taken}; leave ${others.join(', ')} out`;
    return { problem, example: action === 'list' ? { action } : { action, id: EXAMPLE.id } };
  }
  if (action === 'list' || args.id !== undefined) return undefined;
  return { problem: `'id' says which process to ${action}`, example: { action, id: EXAMPLE.id } };
}

function refuseWrite(args: ProcessArguments): Refusal | undefined {
  if (args.action !== 'write') return undefined;
  const bytes = Buffer.byteLength(inputOf(args));
  if (bytes > MAX_WRITE_BYTES)
    return {
      problem: `'data' has ${bytes} bytes; allowed: up to ${MAX_WRITE_BYTES}`,
      example: WRITE_EXAMPLE,
    };
  if (bytes > 0 || args.eof === true) return undefined;
  return { problem: "write needs 'data', 'enter' or 'eof'", example: WRITE_EXAMPLE };
}
