/** Downloads something, says how much has come, and lets the user stop. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { noteFailure } from '../../../api/session.ts';
import { bytes } from '../../../ui/format.ts';
import { Problem } from '../../../ui/problem.tsx';
import { type Download, download } from '../download.ts';

/** The page is not drawn for every part that comes. */
const SHOW_EVERY_MS = 200;

export function DownloadButton({ label, what }: { label: string; what: Download }) {
  const done = useSignal<number | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const abort = useRef<AbortController>(undefined);
  useEffect(() => () => abort.current?.abort(), []);
  const start = async () => {
    abort.current = new AbortController();
    const { signal } = abort.current;
    let shownAt = 0;
    error.value = undefined;
    done.value = 0;
    try {
      await download(what, signal, (count) => {
        if (performance.now() - shownAt < SHOW_EVERY_MS) return;
        shownAt = performance.now();
        done.value = count;
      });
    } catch (failure) {
      if (!isAbort(failure)) {
        noteFailure(failure);
        error.value = failure;
      }
    }
    done.value = undefined;
  };
  return (
    <>
      {done.value === undefined ? (
        <button type="button" class="small" onClick={() => void start()}>
          {label}
        </button>
      ) : (
        <button type="button" class="small" onClick={() => abort.current?.abort()}>
          Stop the download ({bytes(done.value)})
        </button>
      )}
      {error.value !== undefined && <Problem error={error.value} />}
    </>
  );
}

/** The user stopped it, chose no file, or left. */
function isAbort(failure: unknown): boolean {
  return failure instanceof DOMException && failure.name === 'AbortError';
}
