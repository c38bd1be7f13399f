/** Starts a command in the background and returns its id, with its first output. */
import { describeLog, report } from '../background/describe.ts';
import { ProcessInput } from '../background/process-input.ts';
import { ProcessOutput } from '../background/process-output.ts';
import { settle } from '../background/settle.ts';
import { runLimited } from '../limits/run-limited.ts';
import { openOutput } from './open-output.ts';
import type { ToolContext, ToolOutcome } from './tool.ts';

export interface BackgroundRequest {
  command: string;
  timeoutS: number | undefined;
}

export async function startInBackground(
  script: Uint8Array,
  { command, timeoutS }: BackgroundRequest,
  context: ToolContext,
): Promise<ToolOutcome> {
  const { pipes, processes, signal } = context;
  const apart = await context.network.share();
  const process = await processes.start(async (id) => {
    const input = await ProcessInput.open(pipes);
    const output = new ProcessOutput(context.limits, () => openOutput(id, context));
    await output.open();
    return {
      command,
      timeoutS,
      input,
      output,
      run: ({ signal, ...options }) =>
        runLimited({ ...context, executionId: id, signal }, { ...options, script }),
    };
  });
  await settle(process, 0, signal);
  // Nobody will ever learn its id.
  if (signal.aborted) {
    await process.kill('KILL');
    return { output: '', error: 'The command was stopped as it began.', metadata: { failure: 'aborted' } };
  }
  if (process.startFailure !== undefined) {
    processes.drop(process);
    const { failure = 'backend_down' } = process.describe();
    const error = process.limitHit ?? `The sandbox could not start the command: ${process.startFailure}`;
    return { output: '', error, metadata: { failure } };
  }
  const notes = apart === undefined ? [] : [`[other commands cannot reach its ports: ${apart}]`];
  return report(process, [describeLog(process), ...notes]);
}
