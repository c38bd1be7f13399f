/** The files of the run: a tree, a preview, and downloads. */
import { useSignal } from '@preact/signals';
import type { Artifact } from '@talaria/client';
import { useEffect } from 'preact/hooks';
import { useResource } from '../../../api/resource.ts';
import { client } from '../../../api/session.ts';
import { bytes } from '../../../ui/format.ts';
import { Loading } from '../../../ui/loading.tsx';
import { VisibleText } from '../../../ui/visible-text.tsx';
import { useRunView } from '../run-view.ts';
import { VirtualRows } from '../virtual-rows.tsx';
import { DownloadButton } from './download-button.tsx';
import { FilePreview } from './file-preview.tsx';
import { inTreeOrder } from './tree-order.ts';

const LINE_PX = 30;

export function FilesPanel() {
  const { runId, watched } = useRunView();
  const files = useResource(
    async (user, signal) => {
      const { data, truncated } = await user.runs.artifacts.list(runId, { recursive: true }, { signal });
      return { data: inTreeOrder(data), truncated };
    },
    [runId],
  );
  const chosen = useSignal<Artifact | undefined>(undefined);
  watched.revision.value;
  const steps = watched.transcript.value.steps;
  const ended = watched.transcript.value.end !== undefined;
  // Each step may have changed them.
  useEffect(() => files.reload(), [steps, ended]);

  const file = chosen.value;
  if (file !== undefined) {
    return (
      <FilePreview
        key={file.path}
        file={file}
        back={() => {
          chosen.value = undefined;
        }}
      />
    );
  }
  return (
    <Loading of={files}>
      {({ data, truncated }) =>
        data.length === 0 ? (
          <p class="muted">This run has no files.</p>
        ) : (
          <>
            <div class="panel-actions">
              <span class="muted">
                {data.filter(({ type }) => type === 'file').length} files
                {truncated && ', and more than are listed here'}
              </span>
              <DownloadButton
                label="Download all"
                what={{
                  name: `${runId}.zip`,
                  size: truncated ? undefined : sizeOf(data),
                  command: `talaria artifacts get ${runId}`,
                  read: (signal) =>
                    client.peek().runs.artifacts.archive(runId, { format: 'zip' }, { signal }),
                }}
              />
              <button type="button" class="small quiet" onClick={files.reload}>
                Reload
              </button>
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
                    choose={(entry) => {
                      chosen.value = entry;
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
