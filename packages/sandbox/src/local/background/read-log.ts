/** Lines of a background process's log: the requested ones, or the last ones. */

import { pathComponents } from '../../workspace/files/path-components.ts';
import { readLines } from '../../workspace/files/read-lines.ts';
import { withFile } from '../../workspace/files/workspace-path.ts';
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
  /** On the host and as commands see it. */
  workspace: { dir: string; seenAs: string };
}

export async function readLog(process: BackgroundProcess, window: LogWindow): Promise<ToolOutcome> {
  const { logPath } = process.output;
  const description = process.describe();
  if (logPath === undefined)
    return { output: '', error: describeLog(process), metadata: { process: description } };
  const { workspace, maxBytes, maxLogBytes: maxScanBytes, maxLines = DEFAULT_LINES } = window;
  return withFile(workspace.dir, pathComponents(logPath, workspace.seenAs), async (file) => {
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
