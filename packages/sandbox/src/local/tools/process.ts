/** `process`: looks after what `bash` started in the background. */
import type { BackgroundProcess, EndSignal } from '../background/background-process.ts';
import { describeList, describeStatus, report } from '../background/describe.ts';
import { readLog } from '../background/read-log.ts';
import { settle } from '../background/settle.ts';
import { waitWithin } from '../patience.ts';
import {
  InvalidArgumentError,
  optionalBoolean,
  optionalPositive,
  optionalPositiveInteger,
  optionalString,
  rejectUnknown,
  requiredString,
} from './arguments.ts';
import type { Tool, ToolContext, ToolOutcome } from './tool.ts';

type Arguments = Readonly<Record<string, unknown>>;
type Action = (args: Arguments, process: BackgroundProcess, context: ToolContext) => Promise<ToolOutcome>;

const SIGNALS = ['TERM', 'INT', 'KILL'] as const satisfies EndSignal[];
const MAX_WRITE_BYTES = 1024 * 1024;
/** How long a write waits for the process to take it; the rest waits for the process. */
const WRITE_PATIENCE_MS = 1_000;

const poll: Action = async (_, process) => report(process);

const wait: Action = async (args, process, context) => {
  const timeoutS = Math.min(
    optionalPositive(args, 'timeout') ?? context.defaultTimeoutS,
    context.maxTimeoutS,
  );
  await waitWithin(process.ended, { timeoutMs: timeoutS * 1000, signal: context.signal });
  if (!context.signal.aborted) return report(process);
  return { output: '', error: `Waiting for ${process.id} was stopped.`, metadata: { failure: 'aborted' } };
};

const log: Action = async (args, process, context) =>
  readLog(process, {
    firstLine: optionalPositiveInteger(args, 'offset'),
    maxLines: optionalPositiveInteger(args, 'limit'),
    maxBytes: context.limits.limitBytes,
    maxLogBytes: context.limits.spoolLimitBytes + 1,
    workspace: { dir: context.workspace.dir, seenAs: context.isolation.workspaceDir(context.workspace) },
  });

const write: Action = async (args, process, context) => {
  const { input, output } = process;
  const { signal } = context;
  const text = optionalString(args, 'data') ?? '';
  const data = Buffer.from(optionalBoolean(args, 'enter') ? `${text}\n` : text);
  const eof = optionalBoolean(args, 'eof') ?? false;
  if (data.length === 0 && !eof) {
    throw new InvalidArgumentError('The action write takes data, enter or eof.');
  }
  if (data.length > MAX_WRITE_BYTES) {
    throw new InvalidArgumentError(`The argument data is over ${MAX_WRITE_BYTES} bytes.`);
  }
  if (process.status !== 'running') return refused(`It takes no input: ${describeStatus(process)}`);
  if (input.closed) return refused(`The input of ${process.id} is closed.`);
  if (input.waitingBytes > 0) {
    return refused(`${process.id} has not yet read what was written before; nothing was written.`);
  }
  const knownBytes = output.totalBytes;
  if (data.length > 0) await waitWithin(input.write(data), { timeoutMs: WRITE_PATIENCE_MS, signal });
  const notes = input.waitingBytes > 0 ? ['[it has not read all of it yet]'] : [];
  if (eof) input.end();
  await settle(process, knownBytes, signal);
  return report(process, notes);
};

const kill: Action = async (args, process, context) => {
  const signal = optionalString(args, 'signal') ?? 'TERM';
  if (!isEndSignal(signal)) {
    throw new InvalidArgumentError(
      `The argument signal should be one of ${SIGNALS.join(', ')}, not ${signal}.`,
    );
  }
  await process.kill(signal, context.signal);
  return report(process);
};

interface ActionRules {
  run: Action;
  /** Besides action and id. */
  takes: readonly string[];
}

const ACTIONS: ReadonlyMap<string, ActionRules> = new Map([
  ['poll', { run: poll, takes: [] }],
  ['log', { run: log, takes: ['offset', 'limit'] }],
  ['wait', { run: wait, takes: ['timeout'] }],
  ['write', { run: write, takes: ['data', 'enter', 'eof'] }],
  ['kill', { run: kill, takes: ['signal'] }],
]);
const ACTION_NAMES = ['list', ...ACTIONS.keys()].join(', ');
const ARGUMENTS = ['action', 'id', ...[...ACTIONS.values()].flatMap(({ takes }) => takes)];

export const process: Tool = async (args, context) => {
  rejectUnknown(args, ARGUMENTS);
  const name = requiredString(args, 'action');
  if (name === 'list') {
    rejectOthers(args, name, []);
    return list(context);
  }
  const action = ACTIONS.get(name);
  if (!action) {
    throw new InvalidArgumentError(`The argument action should be one of ${ACTION_NAMES}, not ${name}.`);
  }
  rejectOthers(args, name, ['id', ...action.takes]);
  return action.run(args, context.processes.get(requiredString(args, 'id')), context);
};

function list({ processes }: ToolContext): ToolOutcome {
  const descriptions = processes.all.map((process) => process.describe());
  return { output: describeList(descriptions), error: '', metadata: { processes: descriptions } };
}

/** Arguments that the tool has but this action does not. */
function rejectOthers(args: Arguments, action: string, takes: readonly string[]): void {
  const others = Object.keys(args).filter(
    (name) => name !== 'action' && !takes.includes(name) && (args[name] ?? undefined) !== undefined,
  );
  if (others.length === 0) return;
  const taken = takes.length === 0 ? 'nothing else' : takes.join(', ');
  throw new InvalidArgumentError(`The action ${action} takes ${taken}; leave ${others.join(', ')} out.`);
}

function isEndSignal(signal: string): signal is EndSignal {
  return (SIGNALS as readonly string[]).includes(signal);
}

function refused(error: string): ToolOutcome {
  return { output: '', error, metadata: {} };
}
