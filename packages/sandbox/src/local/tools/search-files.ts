/** `search_files`: lines by regular expression, or files by glob, in the workspace or among whole outputs. */
import { posix } from 'node:path';
import type { SandboxArguments } from '../../tools/sandbox-tools.ts';
import { kindAt } from '../../workspace/files/workspace-path.ts';
import { renderScript } from '../isolation/shell.ts';
import { type LimitedEnd, runLimited } from '../limits/run-limited.ts';
import { RecordReader } from '../search/record-reader.ts';
import { EXIT, MAX_RECORD_BYTES, type Search, searchScript } from '../search/search-script.ts';
import { SearchWindow } from '../search/search-window.ts';
import { withReadable } from './readable-path.ts';
import type { Run, ToolContext, ToolOutcome } from './tool.ts';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;
const MAX_TIMEOUT_S = 30;
const SHOWN_COMPLAINTS = 5;

export const searchFiles: Run<'search_files'> = async (args, context) => {
  const { path = '.', offset = 0, limit = DEFAULT_LIMIT } = args;
  const { search, prefix } = await searchOf(args, context);
  const window = new SearchWindow({
    offset,
    limit: Math.min(limit, MAX_LIMIT),
    maxBytes: context.limits.limitBytes,
    context: search.context,
    prefix,
  });
  const reader = new RecordReader(window, {
    withRest: search.target === 'content',
    maxBytes: MAX_RECORD_BYTES,
  });
  const timeoutS = Math.min(MAX_TIMEOUT_S, context.defaultTimeoutS, context.maxTimeoutS);
  const end = await runLimited(context, {
    script: renderScript({ command: searchScript(search), workdir: workspaceDirOf(context), env: {} }),
    capture: reader,
    timeoutMs: timeoutS * 1000,
  });
  const failure = failureOf(end, timeoutS, reader, path);
  if (failure && window.shown === 0) return failure;
  const unfinished = failure !== undefined || reader.cutOff;
  const output = [...window.lines, summary(window, offset, unfinished, search), ...complaintsIn(reader)];
  return {
    output: output.join('\n'),
    error: failure?.error ?? '',
    metadata: { ...failure?.metadata, truncated: unfinished || window.shown < window.total },
  };
};

async function searchOf(
  { pattern, target = 'content', path = '.', glob, context: lines = 0 }: SandboxArguments<'search_files'>,
  context: ToolContext,
): Promise<{ search: Search; prefix: string }> {
  return withReadable(path, context, async ({ root, seenAs, components, prefix }) => {
    const kind = await kindAt(root, components);
    const base = kind === 'file' ? components.slice(0, -1) : components;
    const search: Search = {
      target,
      pattern,
      glob,
      context: target === 'content' ? lines : 0,
      dir: posix.join(seenAs, ...base),
      file: kind === 'file' ? components.at(-1) : undefined,
    };
    return { search, prefix: prefix + base.map((component) => `${component}/`).join('') };
  });
}

function failureOf(
  end: LimitedEnd,
  timeoutS: number,
  { trailer }: RecordReader,
  path: string,
): ToolOutcome | undefined {
  const failed = (error: string, metadata: ToolOutcome['metadata'] = {}) => ({ output: '', error, metadata });
  if (end.cause === 'timeout') {
    return failed(`The search was still running after ${timeoutS} s; narrow it by path, glob or pattern.`, {
      timed_out: true,
      failure: 'timeout',
    });
  }
  if (end.limit) return failed(end.limit.message, { failure: end.limit.failure });
  if (end.cause === 'aborted') return failed('The search was stopped.', { failure: 'aborted' });
  if (!end.started) {
    return failed(`The sandbox could not start the search: ${end.message}`, { failure: 'backend_down' });
  }
  switch (end.exitCode) {
    case 0:
      return /exceeded PCRE|PCRE JIT stack/.test(trailer)
        ? failed('The pattern takes too many steps; write it without repetitions inside repetitions.')
        : undefined;
    case EXIT.noEntry:
      return failed(`${path} cannot be entered.`);
    case EXIT.link:
      return failed(`${path} lies behind a symbolic link, which file tools do not follow.`);
    case EXIT.pattern:
      return failed(`The pattern is not a valid regular expression: ${trailer.trim()}`, {
        failure: 'invalid_request',
      });
    default:
      return failed(`The search failed with code ${end.exitCode}.`);
  }
}

function summary(window: SearchWindow, offset: number, unfinished: boolean, search: Search): string {
  const { total, shown, files } = window;
  const many = unfinished ? `at least ${total}` : String(total);
  const [one, what] = search.target === 'files' ? ['file', 'files'] : ['match', 'matches'];
  const where = search.target === 'files' ? '' : ` in ${files} ${files === 1 ? 'file' : 'files'}`;
  if (total === 0) return `[no ${what}]`;
  if (shown === 0) return `[${many} ${what}${where}; none from offset ${offset} on]`;
  if (shown === total) return `[${many} ${total === 1 ? one : what}${where}]`;
  const next = offset + shown < total ? `; continue with offset ${offset + shown}, or narrow the search` : '';
  return `[${what} ${offset + 1} to ${offset + shown} of ${many}${where}${next}]`;
}

/** The note about what could not be searched. Its paths are relative to the directory of the search. */
function complaintsIn({ trailer }: RecordReader): string[] {
  const lines = trailer.split('\n').filter((line) => line.trim() !== '');
  if (lines.length === 0) return [];
  const more = lines.length > SHOWN_COMPLAINTS ? ['…'] : [];
  return ['[not everything could be searched]', ...lines.slice(0, SHOWN_COMPLAINTS), ...more];
}

function workspaceDirOf(context: ToolContext): string {
  return context.isolation.workspaceDir(context.workspace);
}
