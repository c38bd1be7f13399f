/** `process`: manages what `bash` started in the background. */
import { inputOf } from '../../tools/process.ts';
import type { SandboxArguments } from '../../tools/sandbox-tools.ts';
import { withFile } from '../../workspace/files/workspace-path.ts';
import type { BackgroundProcess } from '../background/background-process.ts';
import { describeList, describeStatus, report } from '../background/describe.ts';
import { readLog } from '../background/read-log.ts';
import { settle } from '../background/settle.ts';
import { waitWithin } from '../patience.ts';
import { withReadable } from './readable-path.ts';
import type { Run, ToolContext, ToolOutcome } from './tool.ts';

type Arguments = SandboxArguments<'process'>;
type Action = (process: BackgroundProcess, args: Arguments, context: ToolContext) => Promise<ToolOutcome>;

/** How long a write waits until the process has read it; the rest stays in the pipe. */
const WRITE_PATIENCE_MS = 1_000;

export const process: Run<'process'> = async (args, context) => {
  const { action, id = '' } = args;
  if (action === 'list') return list(context);
  return ACTIONS[action](context.processes.get(id), args, context);
};

const poll: Action = async (process) => report(process);

const wait: Action = async (process, { timeout }, { defaultTimeoutS, maxTimeoutS, signal }) => {
  const timeoutS = Math.min(timeout ?? defaultTimeoutS, maxTimeoutS);
  await waitWithin(process.ended, { timeoutMs: timeoutS * 1000, signal });
  if (!signal.aborted) return report(process);
  return { output: '', error: `Waiting for ${process.id} was stopped.`, metadata: { failure: 'aborted' } };
};

const log: Action = async (process, { offset, limit }, context) =>
  readLog(process, {
    firstLine: offset,
    maxLines: limit,
    maxBytes: context.limits.limitBytes,
    maxLogBytes: context.limits.spoolLimitBytes + 1,
    withLog: (path, read) =>
      withReadable(path, context, ({ root, components }) => withFile(root, components, read)),
  });

const write: Action = async (process, args, { signal }) => {
  const { input, output } = process;
  const data = Buffer.from(inputOf(args));
  if (process.status !== 'running') return refused(`It takes no input: ${describeStatus(process)}`);
  if (input.closed) return refused(`The input of ${process.id} is closed.`);
  if (input.waitingBytes > 0) {
    return refused(`${process.id} has not yet read what was written before; nothing was written.`);
  }
  const knownBytes = output.totalBytes;
  if (data.length > 0) await waitWithin(input.write(data), { timeoutMs: WRITE_PATIENCE_MS, signal });
  const notes = input.waitingBytes > 0 ? ['[it has not read all of it yet]'] : [];
  if (args.eof) input.end();
  await settle(process, knownBytes, signal);
  return report(process, notes);
};

const kill: Action = async (process, { signal = 'TERM' }, context) => {
  await process.kill(signal, context.signal);
  return report(process);
};

const ACTIONS: Readonly<Record<Exclude<Arguments['action'], 'list'>, Action>> = {
  poll,
  wait,
  log,
  write,
  kill,
};

function list({ processes }: ToolContext): ToolOutcome {
  const descriptions = processes.all.map((process) => process.describe());
  return { output: describeList(descriptions), error: '', metadata: { processes: descriptions } };
}

function refused(error: string): ToolOutcome {
  return { output: '', error, metadata: {} };
}
