/**
 * `process`: looks after what `terminal` left in the background. Only a write can make something run that nobody has
 * looked at yet, so it is gated as the command that it amounts to: its program with that input.
 */
import { NOT_BLANK, wrongCall } from './arguments.ts';
import { defineTool } from './define-tool.ts';
import { oneLine } from './one-line.ts';
import type { SandboxCall } from './sandbox-call.ts';
import { inputOf, judgeInput, runningProcesses } from './shell-history.ts';
import type { PastCall, Tool } from './tool.ts';

const TOOL = 'process';
const ACTIONS = ['list', 'poll', 'log', 'wait', 'write', 'kill'] as const;
const EXAMPLE = { action: 'wait', id: 'proc_0123456789', timeout: 60 };
const WRITE_EXAMPLE = { action: 'write', id: 'proc_0123456789', data: 'yes', enter: true };

interface ProcessArguments {
  action: (typeof ACTIONS)[number];
  id?: string;
  timeout?: number;
  data?: string;
  enter?: boolean;
  eof?: boolean;
}

export function createProcess(call: SandboxCall, maxTimeoutS: number): Tool {
  const tool = defineTool({
    tool: TOOL,
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
          minimum: 0.1,
          description: `wait: seconds after which to return although it still runs (at most ${maxTimeoutS}, which is also the default)`,
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
    prepare(args, callsBefore) {
      const { action, id, timeout, data, enter, eof } = args as unknown as ProcessArguments;
      if (id === undefined) {
        if (action !== 'list')
          throw wrongCall(TOOL, `'id' says which process to ${action}`, { ...EXAMPLE, action });
        return { preview: action, execute: (signal) => call(TOOL, args, signal) };
      }
      if (action !== 'write') {
        const timeoutS = action === 'wait' ? Math.min(timeout ?? maxTimeoutS, maxTimeoutS) : undefined;
        return {
          preview: oneLine(`${action} ${id}`),
          execute: (signal) => call(TOOL, args, signal, timeoutS),
        };
      }
      const input = inputOf({ data, enter });
      if (input === '' && eof !== true) {
        throw wrongCall(TOOL, `write needs 'data', 'enter' or 'eof'`, WRITE_EXAMPLE);
      }
      return {
        preview: oneLine(`write ${id} ${input}`),
        ...(input === '' ? {} : judgeInput(id, input, callsBefore())),
        execute: (signal) => call(TOOL, args, signal),
      };
    },
  });
  return { ...tool, lostInRestart };
}

function lostInRestart(calls: readonly PastCall[]): string | undefined {
  const lost = runningProcesses(calls).map(({ id, command }) => `${id} (${oneLine(command).slice(0, 100)})`);
  if (lost.length === 0) return undefined;
  return `[The server was restarted. Processes in the background have not survived that: ${lost.join(', ')}. Start again what is still needed. Files, and the state of stateful commands, are kept.]`;
}
