/** One file as something to look at. Its bytes are only ever text or the pixels of an image: nothing of it can run. */
import { useSignal } from '@preact/signals';
import type { Artifact, Talaria } from '@talaria/client';
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
const CSV_ROWS = 100;

export function FilePreview({ file, back }: { file: Artifact; back: () => void }) {
  const { runId } = useRunView();
  const { path, size = 0 } = file;
  return (
    <>
      <div class="panel-actions">
        <button type="button" class="small" onClick={back}>
          ‹ All files
        </button>
        <strong>
          <VisibleText text={path} />
        </strong>
        <span class="muted">{bytes(size)}</span>
        <DownloadButton
          label="Download"
          what={{
            name: path.slice(path.lastIndexOf('/') + 1),
            size,
            command: `talaria artifacts get ${runId} '${path.replaceAll("'", "'\\''")}'`,
            read: (signal) => client.peek().runs.artifacts.read(runId, path, { signal }),
          }}
        />
      </div>
      {kindOf(path) === 'image' ? <Image file={file} /> : <TextFile file={file} />}
    </>
  );
}

function TextFile({ file: { path, size = 0 } }: { file: Artifact }) {
  const { runId } = useRunView();
  const text = useResource((user, signal) => readText(user, runId, path, size, signal), [runId, path, size]);
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
            <Csv rows={parseCsv(content, kind === 'csv' ? ',' : '\t', CSV_ROWS + 1)} />
          ) : (
            <Code text={content} language={endingOf(path)} />
          )}
          {size > TEXT_BYTES && <p class="muted">This is its beginning. Download has all of it.</p>}
        </>
      )}
    </Loading>
  );
}

async function readText(
  user: Talaria,
  runId: string,
  path: string,
  size: number,
  signal: AbortSignal,
): Promise<string> {
  const end = size > TEXT_BYTES ? { end: TEXT_BYTES } : {};
  const answer = await user.runs.artifacts.read(runId, path, { ...end, signal });
  return new TextDecoder().decode(await answer.arrayBuffer());
}

function Csv({ rows: [header = [], ...rows] }: { rows: string[][] }) {
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
    </div>
  );
}

function Image({ file: { path, size = 0 } }: { file: Artifact }) {
  const { runId } = useRunView();
  const url = useSignal<string | undefined>(undefined);
  const image = useResource(
    async (user, signal) =>
      size > IMAGE_BYTES
        ? undefined
        : (await user.runs.artifacts.read(runId, path, { signal })).arrayBuffer(),
    [runId, path, size],
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
