/** All files of the run as a tree, now or as they were at an event: a preview of each, and downloads. */
import { useSignal } from '@preact/signals';
import type { Artifact } from '@talaria/client';
import { useResource } from '../../../api/resource.ts';
import { client } from '../../../api/session.ts';
import { bytes } from '../../../ui/format.ts';
import { Loading } from '../../../ui/loading.tsx';
import { VisibleText } from '../../../ui/visible-text.tsx';
import { useRunView } from '../run-view.ts';
import { VirtualRows } from '../virtual-rows.tsx';
import { DownloadButton } from './download-button.tsx';
import { FilePreview } from './file-preview.tsx';
import { isNotKept, NotKept } from './not-kept.tsx';
import { inTreeOrder } from './tree-order.ts';
import { useReloadByStep } from './use-reload-by-step.ts';

const LINE_PX = 30;

export function FileTree({ at }: { at: number | undefined }) {
  const { runId } = useRunView();
  const files = useResource(
    async (user, signal) => {
      const query = { recursive: true, at };
      const { data, truncated, omitted_count } = await user.runs.artifacts.list(runId, query, { signal });
      return { data: inTreeOrder(data), truncated, omitted: omitted_count ?? 0 };
    },
    [runId, at],
  );
  /** The path of a file. */
  const chosen = useSignal<string | undefined>(undefined);
  useReloadByStep(files, at === undefined);
  if (isNotKept(files)) return <NotKept />;
  return (
    <Loading of={files}>
      {({ data, truncated, omitted }) =>
        chosen.value !== undefined ? (
          <FilePreview
            key={chosen.value}
            path={chosen.value}
            file={data.find(({ path }) => path === chosen.value)}
            at={at}
            back={() => {
              chosen.value = undefined;
            }}
          />
        ) : data.length === 0 ? (
          <p class="empty">{at === undefined ? 'This run has no files.' : 'There were no files then.'}</p>
        ) : (
          <>
            <div class="panel-actions">
              <span class="muted">
                {data.filter(({ type }) => type === 'file').length} files
                {truncated && ', and more than are listed here'}
                {omitted > 0 && `, ${omitted} were not kept`}
              </span>
              <DownloadButton
                label="Download all"
                what={{
                  name: `${runId}.zip`,
                  size: truncated ? undefined : sizeOf(data),
                  command: `talaria artifacts get ${runId}`,
                  read: (signal) =>
                    client.peek().runs.artifacts.archive(runId, { format: 'zip', at }, { signal }),
                }}
              />
            </div>
            <div class="files">
              <VirtualRows
                label="Files"
                count={data.length}
                keyOf={(index) => data[index]!.path}
                estimate={() => LINE_PX}
              >
                {(index) => (
                  <Entry
                    entry={data[index]!}
                    choose={({ path }) => {
                      chosen.value = path;
                    }}
                  />
                )}
              </VirtualRows>
            </div>
          </>
        )
      }
    </Loading>
  );
}

function Entry({ entry, choose }: { entry: Artifact; choose: (entry: Artifact) => void }) {
  const { path, type, size } = entry;
  const parts = path.split('/');
  const depth = Math.min(parts.length - 1, 8);
  const name = <VisibleText text={parts.at(-1)!} />;
  return (
    <div class={`entry depth-${depth}`} title={path}>
      {type === 'file' ? (
        <button type="button" class="fold" onClick={() => choose(entry)}>
          {name}
        </button>
      ) : (
        <span class="muted">
          {name}
          {type === 'directory' ? '/' : ` (${type})`}
        </span>
      )}
      {type === 'file' && <span class="muted">{bytes(size ?? 0)}</span>}
    </div>
  );
}

function sizeOf(files: readonly Artifact[]): number {
  return files.reduce((sum, { size = 0 }) => sum + size, 0);
}
