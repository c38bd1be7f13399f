/** Files that go with a message, on a server that takes them. */
import type { Signal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { useResource } from '../api/resource.ts';
import { bytes } from './format.ts';
import { VisibleText } from './visible-text.tsx';

export function Attachments({ files }: { files: Signal<readonly File[]> }) {
  const picker = useRef<HTMLInputElement>(null);
  const capabilities = useResource((client, signal) => client.capabilities.get({ signal }), []);
  // A server that does not say what it can do takes none.
  const { features } = (capabilities.state.value.data ?? {}) as { features?: { files?: boolean } };
  if (features?.files !== true) return null;
  return (
    <>
      <button type="button" onClick={() => picker.current?.click()}>
        Attach<span class="visually-hidden"> files</span>
      </button>
      <input
        ref={picker}
        hidden
        type="file"
        multiple
        onChange={({ currentTarget }) => {
          files.value = [...files.value, ...(currentTarget.files ?? [])];
          // The same file may be chosen again.
          currentTarget.value = '';
        }}
      />
      {files.value.length > 0 && (
        <ul class="attached" aria-label="Attached files">
          {files.value.map((file, index) => (
            <li key={`${index} ${file.name}`}>
              <VisibleText text={file.name} /> <span class="muted">{bytes(file.size)}</span>
              <button
                type="button"
                class="quiet small"
                aria-label={`Remove ${file.name}`}
                onClick={() => {
                  files.value = files.value.filter((other) => other !== file);
                }}
              >
                ✕
              </button>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
