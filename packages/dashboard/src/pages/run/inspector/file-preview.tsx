/** One file as something to look at. Its bytes are only ever text or the pixels of an image: nothing of it can run. */
import { useSignal } from '@preact/signals';
import type { Artifact } from '@talaria/client';
import { useEffect } from 'preact/hooks';
import { useResource } from '../../../api/resource.ts';
import { client } from '../../../api/session.ts';
import { Code } from '../../../ui/code.tsx';
import { bytes } from '../../../ui/format.ts';
import { Loading } from '../../../ui/loading.tsx';
import { Markdown } from '../../../ui/markdown.tsx';
import { VisibleText } from '../../../ui/visible-text.tsx';
import { useRunView } from '../run-view.ts';
import { parseCsv } from './csv.ts';
import { DownloadButton } from './download-button.tsx';
import { endingOf, imageType, kindOf } from './file-kind.ts';

/** The beginning of a text is enough to look at. */
const TEXT_BYTES = 100_000;
const IMAGE_BYTES = 20_000_000;
/** Each cell is a node of the page. */
const [CSV_ROWS, CSV_COLUMNS] = [100, 50];

interface FileProps {
  file: Artifact;
  /** The event at which it is shown; by default it is shown as it is now. */
  at: number | undefined;
}

interface FilePreviewProps {
  path: string;
  /** Undefined where the place that is shown does not have it. */
  file: Artifact | undefined;
  at: number | undefined;
  back: () => void;
}

export function FilePreview({ path, file, at, back }: FilePreviewProps) {
  const { runId } = useRunView();
  return (
    <>
      <div class="panel-actions">
        <button type="button" class="small" onClick={back}>
          ‹ Back
        </button>
        <strong class="path">
          <VisibleText text={path} />
        </strong>
        {file !== undefined && (
          <>
            <span class="muted">{bytes(file.size ?? 0)}</span>
            <DownloadButton
              label="Download"
              what={{
                name: path.slice(path.lastIndexOf('/') + 1),
                size: file.size ?? 0,
                command: `talaria artifacts get ${runId} '${path.replaceAll("'", "'\\''")}'`,
                read: (signal) => client.peek().runs.artifacts.read(runId, path, { at, signal }),
              }}
            />
          </>
        )}
      </div>
      {file === undefined ? (
        <p class="empty">There {at === undefined ? 'is' : 'was'} no such file at this point.</p>
      ) : kindOf(path) === 'image' ? (
        <Image file={file} at={at} />
      ) : (
        <TextFile file={file} at={at} />
      )}
    </>
  );
}

function TextFile({ file: { path, size = 0 }, at }: FileProps) {
  const { runId } = useRunView();
  const text = useResource(
    async (user, signal) => {
      const end = size > TEXT_BYTES ? { end: TEXT_BYTES } : {};
      const answer = await user.runs.artifacts.read(runId, path, { ...end, at, signal });
      return new TextDecoder().decode(await answer.arrayBuffer());
    },
    [runId, path, size, at],
  );
  const kind = kindOf(path);
  if (kind === 'other') return <p class="muted">This kind of file has no preview.</p>;
  return (
    <Loading of={text}>
      {(content) => (
        <>
          {content.includes('\u0000') ? (
            <p class="muted">This file is not text.</p>
          ) : kind === 'markdown' ? (
            <Markdown text={content} />
          ) : kind === 'csv' || kind === 'tsv' ? (
            <Csv table={parseCsv(content, kind === 'csv' ? ',' : '\t', CSV_ROWS + 1)} />
          ) : (
            <Code text={content} language={endingOf(path)} />
          )}
          {size > TEXT_BYTES && <p class="muted">This is its beginning. Download has all of it.</p>}
        </>
      )}
    </Loading>
  );
}

function Csv({ table }: { table: string[][] }) {
  const [header = [], ...rows] = table.map((row) => row.slice(0, CSV_COLUMNS));
  const isWider = table.some((row) => row.length > CSV_COLUMNS);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table scrolls, also by the keyboard
    <div class="wide" tabIndex={0}>
      <table class="csv">
        <thead>
          <tr>
            {header.map((cell, index) => (
              <th key={index} scope="col">
                <VisibleText text={cell} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={column}>
                  <VisibleText text={cell} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length >= CSV_ROWS && <p class="muted">These are its first rows.</p>}
      {isWider && <p class="muted">These are its first columns.</p>}
    </div>
  );
}

function Image({ file: { path, size = 0 }, at }: FileProps) {
  const { runId } = useRunView();
  const url = useSignal<string | undefined>(undefined);
  const image = useResource(
    async (user, signal) =>
      size > IMAGE_BYTES
        ? undefined
        : (await user.runs.artifacts.read(runId, path, { at, signal })).arrayBuffer(),
    [runId, path, size, at],
  );
  const { data } = image.state.value;
  useEffect(() => {
    if (data === undefined) return;
    // The type is one of ours, whatever the bytes are: as an image nothing in them runs.
    const made = URL.createObjectURL(new Blob([data], { type: imageType(path) }));
    url.value = made;
    return () => URL.revokeObjectURL(made);
  }, [data, path]);
  if (size > IMAGE_BYTES) return <p class="muted">This image is too large for a preview.</p>;
  return (
    <Loading of={image}>
      {() => (url.value === undefined ? null : <img class="picture" src={url.value} alt={path} />)}
    </Loading>
  );
}
