/** Lines of a background process's log: the requested ones, or the last ones. */

import type { FileHandle } from 'node:fs/promises';
import { readLines } from '../../workspace/files/read-lines.ts';
import type { ToolOutcome } from '../tools/tool.ts';
import type { BackgroundProcess } from './background-process.ts';
import { describeLog, describeStatus } from './describe.ts';

const DEFAULT_LINES = 200;

export interface LogWindow {
  /** From 1; the last lines if it is undefined. */
  firstLine: number | undefined;
  maxLines: number | undefined;
  maxBytes: number;
  /** No log is longer. */
  maxLogBytes: number;
  /** Calls `read` with the log, opened at its path as commands see it. */
  withLog<T>(path: string, read: (file: FileHandle) => Promise<T>): Promise<T>;
}

export async function readLog(process: BackgroundProcess, window: LogWindow): Promise<ToolOutcome> {
  const { logPath } = process.output;
  const description = process.describe();
  if (logPath === undefined)
    return { output: '', error: describeLog(process), metadata: { process: description } };
  const { maxBytes, maxLogBytes: maxScanBytes, maxLines = DEFAULT_LINES } = window;
  return window.withLog(logPath, async (file) => {
    const count = async () =>
      (await readLines(file, { firstLine: 1, maxLines: 0, maxBytes: 0, maxScanBytes })).totalLines ?? 0;
    const firstLine = window.firstLine ?? Math.max(1, (await count()) - maxLines + 1);
    const { text, lineCount, totalLines } = await readLines(file, {
      firstLine,
      maxLines,
      maxBytes,
      maxScanBytes,
    });
    const last = firstLine + lineCount - 1;
    const part = lineCount === 0 ? `no line from ${firstLine} on` : `lines ${firstLine} to ${last}`;
    const note = `[${part} of ${totalLines ?? 'more'}; ${describeLog(process).slice(1)}`;
    return {
      output: [describeStatus(process), text.replace(/\n$/, ''), note].join('\n'),
      error: '',
      metadata: {
        process: description,
        truncated: firstLine > 1 || totalLines === undefined || last < totalLines,
        total_bytes: description.output_bytes,
      },
    };
  });
}
