/** Background processes as text for the model. */
import type { ProcessDescription } from '../../backend.ts';
import type { ToolOutcome } from '../tools/tool.ts';
import type { BackgroundProcess } from './background-process.ts';

/** The state of the process, and its output since the last call that asked for it. */
export function report(process: BackgroundProcess, more: readonly string[] = []): ToolOutcome {
  const description = process.describe();
  const { text, droppedBytes } = process.output.take();
  const lines = [describeStatus(process), ...more];
  if (droppedBytes > 0) lines.push(`[${droppedBytes} bytes came before this and are left out]`);
  lines.push(text === '' ? '[no new output]' : text);
  return {
    output: lines.join('\n'),
    error: '',
    metadata: { process: description, truncated: droppedBytes > 0, total_bytes: description.output_bytes },
  };
}

export function describeStatus(process: BackgroundProcess): string {
  const { id, status, exit_code: code, signal, duration_s } = process.describe();
  const seconds = `${duration_s.toFixed(1)} s`;
  if (process.startFailure !== undefined) return `${id} could not be started: ${process.startFailure}`;
  const limit = process.limitHit === undefined ? '' : ` ${process.limitHit}`;
  const how = signal === undefined ? `code ${code ?? 'unknown'}` : `code ${code}, ${signal}`;
  switch (status) {
    case 'running':
      return `${id} has been running for ${seconds}.`;
    case 'exited':
      return `${id} exited with ${how} after ${seconds}.${limit}`;
    case 'killed':
      return `${id} was killed after ${seconds}${code === undefined ? '' : ` and exited with ${how}`}.${limit}`;
    case 'timed_out':
      return `${id} was ended after ${process.timeoutS} s, its timeout.`;
  }
}

/** Says where the whole output is, or why it is not stored. */
export function describeLog({ output }: BackgroundProcess): string {
  if (output.logPath === undefined) return `[${output.logGap}]`;
  const gap = output.logGap === undefined ? '' : `; ${output.logGap}`;
  return `[all of its output is in ${output.logPath}${gap}]`;
}

export function describeList(processes: readonly ProcessDescription[]): string {
  if (processes.length === 0) return 'There are no background processes.';
  return processes.map(describeLine).join('\n');
}

function describeLine(process: ProcessDescription): string {
  const { id, status, exit_code: code, duration_s, output_bytes, command } = process;
  const ended = code === undefined ? status : `${status} (${code})`;
  return `${id}  ${ended}  ${duration_s.toFixed(1)} s  ${output_bytes} bytes  ${command.replace(/\s+/g, ' ')}`;
}
