/** `read_file`: lines of a text file in the workspace, or of a whole output. */

import type { FileHandle } from 'node:fs/promises';
import type { SandboxArguments } from '../../tools/sandbox-tools.ts';
import { type Lines, readLines } from '../../workspace/files/read-lines.ts';
import { withFile } from '../../workspace/files/workspace-path.ts';
import { type ReadablePath, withReadable } from './readable-path.ts';
import type { Run, ToolContext, ToolOutcome } from './tool.ts';

const DEFAULT_LINES = 2000;
/** Only this much of a larger file is read; a sparse file may claim to be a thousand times larger. */
const MAX_SCAN_BYTES = 64 * 1024 * 1024;

const SNIFFED_BYTES = 8_192;
const NOT_UTF8 = '[bytes that are not UTF-8 are shown as \uFFFD]';

export const readFile: Run<'read_file'> = async (args, context) =>
  withReadable(args.path, context, (place) => readLinesAt(place, args, context));

async function readLinesAt(
  { root, components, prefix }: ReadablePath,
  { offset: firstLine = 1, limit: maxLines = DEFAULT_LINES }: SandboxArguments<'read_file'>,
  context: ToolContext,
): Promise<ToolOutcome> {
  return await withFile(root, components, async (file, stats) => {
    const lines = await readLines(file, {
      firstLine,
      maxLines,
      maxBytes: context.limits.limitBytes,
      maxScanBytes: MAX_SCAN_BYTES,
    });
    const metadata = { total_bytes: stats.size };
    const error = (await isBinary(file, lines))
      ? binary(prefix + components.join('/'), stats.size)
      : unreachable(lines, firstLine);
    if (error) return { output: '', error, metadata };
    const missing = whatIsMissing(lines, firstLine, stats.size);
    const note = [missing, lines.text.includes('\uFFFD') ? NOT_UTF8 : '']
      .filter((text) => text !== '')
      .join('\n');
    return {
      output: note ? `${lines.text}${lines.text.endsWith('\n') ? '' : '\n'}${note}` : lines.text,
      error: '',
      metadata: { ...metadata, truncated: missing !== '' },
    };
  });
}

/** As in grep: text has no NUL. The start of the file counts too, whichever part was requested. */
async function isBinary(file: FileHandle, { text }: Lines): Promise<boolean> {
  if (text.includes('\0')) return true;
  const start = Buffer.alloc(SNIFFED_BYTES);
  const { bytesRead } = await file.read(start, 0, start.length, 0);
  return start.subarray(0, bytesRead).includes(0);
}

function binary(path: string, size: number): string {
  return `${path} is a binary file of ${size} bytes; read_file reads text. Look at it with a command, such as file or xxd.`;
}

function unreachable({ totalLines, reached }: Lines, firstLine: number): string {
  if (!reached)
    return `Line ${firstLine} lies beyond the first ${MAX_SCAN_BYTES} bytes; use bash to reach it.`;
  if (firstLine === 1 || totalLines === undefined || firstLine <= totalLines) return '';
  return `The file has ${totalLines} lines; there is no line ${firstLine}.`;
}

function whatIsMissing({ lineCount, totalLines, cutInLine }: Lines, firstLine: number, size: number): string {
  const lastLine = firstLine + lineCount - 1;
  const complete = firstLine === 1 && totalLines !== undefined && lastLine >= totalLines && !cutInLine;
  if (complete) return '';
  const total = totalLines === undefined ? 'more' : String(totalLines);
  const more = totalLines === undefined || lastLine < totalLines;
  const cut = cutInLine ? ` Line ${lastLine} is longer than what is shown of it; use bash for its rest.` : '';
  const next = more ? ` Continue with offset ${lastLine + 1}.` : '';
  return `[lines ${firstLine} to ${lastLine} of ${total}, ${size} bytes in all.${cut}${next}]`;
}
