/**
 * What changed in the files between two events: a list, and the lines of each file that is opened. Only the rows in sight are in
 * the page, so a change of ten thousand files or lines can be read like a small one.
 */
import { useSignal } from '@preact/signals';
import { useResource } from '../../../api/resource.ts';
import { client } from '../../../api/session.ts';
import { Loading } from '../../../ui/loading.tsx';
import { describe } from '../../../ui/problem.tsx';
import { VisibleText } from '../../../ui/visible-text.tsx';
import { DiffLines } from '../diff-lines.tsx';
import type { DiffLine } from '../patch-lines.ts';
import { useRunView } from '../run-view.ts';
import { VirtualRows } from '../virtual-rows.tsx';
import { changesOf, type FileChange, totalOf } from './changed-files.ts';
import { DownloadButton } from './download-button.tsx';
import { isNotKept, NotKept } from './not-kept.tsx';
import { type FilePatch, usePatches } from './use-patches.ts';
import { useReloadByStep } from './use-reload-by-step.ts';

interface ChangesProps {
  /** The events that are compared: by default the start of the run and its last checkpoint. */
  from?: number | undefined;
  to: number | undefined;
  /** Who made the changes, as the beginning of a sentence: `The run`, `Step 3`. */
  by: string;
}

const FILE_PX = 34;
const LINE_PX = 20;
/** So many lines are one row of the list. */
const PART_LINES = 40;
/** A change of few files is opened at once. */
const OPEN_AT_FIRST = 3;

export function Changes({ from, to, by }: ChangesProps) {
  const { runId } = useRunView();
  const query = { from, to };
  const diff = useResource(
    async (user, signal) => {
      const { data, truncated } = await user.runs.diff(runId, query, { signal });
      return { changes: changesOf(data), truncated };
    },
    [runId, from, to],
  );
  useReloadByStep(diff, to === undefined);
  const changes = diff.state.value.data?.changes ?? [];
  const toggled = useSignal<ReadonlyMap<string, boolean>>(new Map());
  const isOpen = ({ path, why }: FileChange) =>
    toggled.value.get(path) ?? (why === undefined && changes.length <= OPEN_AT_FIRST);
  const open = changes.filter((change) => isOpen(change) && change.why === undefined);
  const patches = usePatches(
    runId,
    query,
    diff.state.value.data,
    open.map(({ path }) => path),
  );
  if (isNotKept(diff)) return <NotKept />;
  return (
    <Loading of={diff}>
      {({ truncated }) => {
        if (changes.length === 0) return <p class="empty">{by} has changed no file.</p>;
        const rows = rowsOf(changes, isOpen, patches);
        return (
          <>
            <div class="panel-actions">
              <Total changes={changes} truncated={truncated} />
              <DownloadButton
                label="Download the patch"
                what={{
                  name: `${runId}.patch`,
                  size: 0,
                  command: `talaria diff ${runId}`,
                  read: (signal) => client.peek().runs.patch(runId, query, { signal }),
                }}
              />
            </div>
            <div class="files">
              <VirtualRows
                label="Changed files"
                count={rows.length}
                keyOf={(index) => rows[index]!.key}
                estimate={(index) => heightOf(rows[index]!)}
              >
                {(index) => (
                  <ChangeRow
                    row={rows[index]!}
                    toggle={({ path }, opened) => {
                      toggled.value = new Map(toggled.value).set(path, opened);
                    }}
                  />
                )}
              </VirtualRows>
            </div>
          </>
        );
      }}
    </Loading>
  );
}

type Row = { key: string } & (
  | { kind: 'file'; change: FileChange; open: boolean }
  | { kind: 'lines'; lines: readonly DiffLine[] }
  | { kind: 'note'; text: string; isProblem?: boolean }
);

function rowsOf(
  changes: readonly FileChange[],
  isOpen: (change: FileChange) => boolean,
  patches: ReadonlyMap<string, FilePatch>,
): Row[] {
  return changes.flatMap((change): Row[] => {
    const { path, why } = change;
    const open = isOpen(change);
    const head: Row = { key: path, kind: 'file', change, open };
    if (!open) return [head];
    const note = (text: string, isProblem = false): Row => ({
      key: `${path}\0note`,
      kind: 'note',
      text,
      isProblem,
    });
    if (why !== undefined) return [head, note(why)];
    const patch = patches.get(path);
    if (patch === undefined) return [head, note('Loading…')];
    if (patch.error !== undefined) return [head, note(describe(patch.error), true)];
    const parts: Row[] = [];
    for (let at = 0; at < patch.lines.length; at += PART_LINES) {
      parts.push({ key: `${path}\0${at}`, kind: 'lines', lines: patch.lines.slice(at, at + PART_LINES) });
    }
    if (patch.cut) parts.push(note('This is the beginning of its changes. The patch has all of them.'));
    return [head, ...parts];
  });
}

function heightOf(row: Row): number {
  return row.kind === 'lines' ? row.lines.length * LINE_PX : FILE_PX;
}

function ChangeRow({ row, toggle }: { row: Row; toggle: (change: FileChange, open: boolean) => void }) {
  switch (row.kind) {
    case 'file':
      return <FileHead {...row} toggle={() => toggle(row.change, !row.open)} />;
    case 'lines':
      return <DiffLines lines={row.lines} />;
    case 'note':
      return (
        <p class={row.isProblem ? 'change-note bad' : 'change-note muted'} role="status">
          {row.text}
        </p>
      );
  }
}

const SIGNS: Record<FileChange['kind'], [letter: string, kind: string]> = {
  added: ['A', 'good'],
  modified: ['M', 'warn'],
  deleted: ['D', 'bad'],
  renamed: ['R', 'accent'],
};

function FileHead({ change, open, toggle }: { change: FileChange; open: boolean; toggle: () => void }) {
  return (
    <button type="button" class="fold change" aria-expanded={open} onClick={toggle}>
      <ChangeLine change={change} />
    </button>
  );
}

/** What happened to a file, in one line. */
export function ChangeLine({ change }: { change: FileChange }) {
  const { path, oldPath, kind, additions, deletions } = change;
  const [letter, colour] = SIGNS[kind];
  return (
    <>
      <span class={`letter ${colour}`} aria-hidden="true">
        {letter}
      </span>
      <span class="visually-hidden">{kind} </span>
      <span class="change-path" title={path}>
        {oldPath !== undefined && (
          <span class="muted">
            <VisibleText text={oldPath} /> →{' '}
          </span>
        )}
        <VisibleText text={path} />
      </span>
      <Counts added={additions} removed={deletions} />
    </>
  );
}

function Counts({ added, removed }: { added: number | undefined; removed: number | undefined }) {
  if (added === undefined || removed === undefined) return <span class="muted">not compared</span>;
  return (
    <span class="counts">
      <span class="good">+{added}</span> <span class="bad">−{removed}</span>
    </span>
  );
}

export function Total({ changes, truncated }: { changes: readonly FileChange[]; truncated: boolean }) {
  const { added, removed } = totalOf(changes);
  return (
    <span class="muted">
      {changes.length === 1 ? '1 file' : `${changes.length} files`}
      {truncated && ', and more than are listed here'} <Counts added={added} removed={removed} />
    </span>
  );
}
