/**
 * `patch`: edits text files of the workspace, by replacing a piece of one or by a patch over several. Everything is
 * read and computed before anything is written, so a failed call has changed nothing; it reports all mismatches at
 * once.
 */

import { InvalidArguments } from '../../tools/check-arguments.ts';
import type { Replacement } from '../../tools/patch.ts';
import { pathComponents, WorkspacePathError } from '../../workspace/files/path-components.ts';
import { fileTurns } from '../../workspace/files/turns.ts';
import {
  changeFiles,
  type FileChange,
  fileExists,
  type SeenFile,
  seeFile,
} from '../../workspace/writing/file-changes.ts';
import { applyHunks } from '../edits/apply-hunks.ts';
import { EditError } from '../edits/edit-error.ts';
import { type FilePatch, PatchFormatError, parsePatch } from '../edits/parse-patch.ts';
import { replaceText } from '../edits/replace-text.ts';
import type { Run, ToolContext, ToolOutcome } from './tool.ts';

/** Edits are computed on the server's thread. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;
/** Each holds a directory open while the files are put in place. */
const MAX_FILES = 200;

interface Planned {
  changes: FileChange[];
  summary: string;
}

export const patch: Run<'patch'> = async (args, context) => {
  const plan = 'patch' in args ? planPatch(args.patch, context) : planReplacement(args, context);
  return await fileTurns.take(context.workspace.dir, async (): Promise<ToolOutcome> => {
    try {
      const { changes, summary } = await plan();
      if (context.signal.aborted) {
        return {
          output: '',
          error: 'The call was stopped; nothing was changed.',
          metadata: { failure: 'aborted' },
        };
      }
      await context.slotLimits.admit(bytesOf(changes));
      await changeFiles(context.workspace, changes);
      return { output: summary, error: '', metadata: {} };
    } catch (error) {
      if (!(error instanceof EditError)) throw error;
      return { output: '', error: error.message, metadata: {} };
    }
  });
};

function bytesOf(changes: readonly FileChange[]): number {
  return changes.reduce(
    (sum, change) => sum + (change.kind === 'write' ? Buffer.byteLength(change.content) : 0),
    0,
  );
}

function planReplacement(
  { path, old_string: oldString, new_string: newString, replace_all: replaceAll = false }: Replacement,
  context: ToolContext,
): () => Promise<Planned> {
  const components = componentsOf(path, context);
  return async () => {
    const before = await existing(components, context);
    const { text, lines } = replaceText(textOf(before, components), { oldString, newString, replaceAll });
    const name = components.join('/');
    const summary =
      lines.length === 1
        ? `Replaced 1 place in ${name}, in line ${lines[0]}.`
        : `Replaced ${lines.length} places in ${name}.`;
    return { changes: [{ kind: 'write', components, content: text, before }], summary };
  };
}

function planPatch(text: string, context: ToolContext): () => Promise<Planned> {
  const files = parse(text);
  const paths = files.map((file) => componentsOf(file.path, context));
  const moves = files.map((file) =>
    file.kind === 'update' && file.moveTo !== undefined ? componentsOf(file.moveTo, context) : undefined,
  );
  assertDistinct([...paths, ...moves.filter((move) => move !== undefined)]);
  return async () => {
    const changes: FileChange[] = [];
    const summaries: string[] = [];
    const problems: string[] = [];
    for (const [index, file] of files.entries()) {
      try {
        const planned = await planFile(file, paths[index] as string[], moves[index], context);
        changes.push(...planned.changes);
        summaries.push(planned.summary);
      } catch (error) {
        if (!(error instanceof EditError || error instanceof WorkspacePathError)) throw error;
        problems.push(error instanceof EditError ? `${file.path}: ${error.message}` : error.message);
      }
    }
    if (problems.length === 0) return { changes, summary: summaries.join('\n') };
    throw new EditError(`The patch was not applied and no file was changed.\n${problems.join('\n')}`);
  };
}

async function planFile(
  file: FilePatch,
  components: readonly string[],
  moveTo: readonly string[] | undefined,
  context: ToolContext,
): Promise<Planned> {
  const path = components.join('/');
  if (file.kind === 'add') {
    await assertFree(components, context);
    const change: FileChange = { kind: 'write', components, content: file.content, before: undefined };
    return { changes: [change], summary: `Added ${path}.` };
  }
  const before = await existing(components, context);
  if (file.kind === 'delete') {
    return { changes: [{ kind: 'delete', components, before }], summary: `Deleted ${path}.` };
  }
  const content = applyHunks(textOf(before, components), file.hunks);
  if (moveTo === undefined) {
    return { changes: [{ kind: 'write', components, content, before }], summary: `Updated ${path}.` };
  }
  await assertFree(moveTo, context);
  const { mode } = before.stats;
  return {
    changes: [
      { kind: 'write', components: moveTo, content, before: undefined, mode },
      { kind: 'delete', components, before },
    ],
    summary: `${file.hunks.length > 0 ? 'Updated and moved' : 'Moved'} ${path} to ${moveTo.join('/')}.`,
  };
}

function parse(text: string): FilePatch[] {
  try {
    const files = parsePatch(text);
    if (files.length <= MAX_FILES) return files;
    throw new InvalidArguments(`The patch names ${files.length} files; it may name up to ${MAX_FILES}.`);
  } catch (error) {
    throw error instanceof PatchFormatError ? new InvalidArguments(error.message) : error;
  }
}

function assertDistinct(paths: readonly (readonly string[])[]): void {
  const seen = new Set<string>();
  for (const components of paths) {
    const path = components.join('/');
    if (seen.has(path)) {
      throw new InvalidArguments(`The patch names ${path} twice; put its changes into one part.`);
    }
    seen.add(path);
  }
}

async function existing(components: readonly string[], context: ToolContext): Promise<SeenFile> {
  const file = await seeFile(context.workspace.dir, components, MAX_FILE_BYTES);
  if (file) return file;
  throw new WorkspacePathError(`${components.join('/')} does not exist.`);
}

async function assertFree(components: readonly string[], context: ToolContext): Promise<void> {
  if (!(await fileExists(context.workspace.dir, components))) return;
  throw new WorkspacePathError(`${components.join('/')} exists already; update or delete it instead.`);
}

function textOf({ content }: SeenFile, components: readonly string[]): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content);
  } catch {
    throw new EditError(`${components.join('/')} is not UTF-8 text and cannot be edited as such.`);
  }
}

function componentsOf(path: string, context: ToolContext): string[] {
  return pathComponents(path, context.isolation.workspaceDir(context.workspace));
}
