/** What a call returned: its first and last lines, with a search through all of it. */
import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { Copy } from '../../../ui/copy.tsx';
import { TerminalOutput } from '../../../ui/terminal-output.tsx';
import { around, find, windowOf } from './output-window.ts';

export function CallOutput({ output, save }: { output: string; save: () => void }) {
  const wrap = useSignal(true);
  const words = useSignal('');
  const current = useSignal(0);
  const shown = useMemo(() => windowOf(output), [output]);
  const found = useMemo(() => find(output, words.value), [output, words.value]);
  const at = found[current.value % (found.length || 1)];
  const move = (step: number) => {
    current.value = (current.value + step + found.length) % (found.length || 1);
  };
  return (
    <section aria-label="Output">
      <p class="panel-actions">
        <label>
          <span class="visually-hidden">Find in the output</span>
          <input
            type="search"
            placeholder="Find in the output"
            value={words}
            onInput={({ currentTarget }) => {
              words.value = currentTarget.value;
              current.value = 0;
            }}
            onKeyDown={(event) => {
              if (event.key === 'Enter') move(event.shiftKey ? -1 : 1);
            }}
          />
        </label>
        {words.value !== '' && (
          <span role="status" class="muted">
            {found.length === 0 ? 'not found' : `${(current.value % found.length) + 1} of ${found.length}`}
          </span>
        )}
        <label>
          <input
            type="checkbox"
            checked={wrap}
            onChange={({ currentTarget }) => {
              wrap.value = currentTarget.checked;
            }}
          />{' '}
          Wrap
        </label>
        <Copy text={() => output} what="the output" />
        <button type="button" class="small quiet" onClick={save}>
          Download
        </button>
      </p>
      {at !== undefined && (
        <>
          <TerminalOutput text={around(output, at)} wrap={wrap.value} />
          <hr />
        </>
      )}
      {output === '' ? (
        <p class="muted">It returned nothing.</p>
      ) : (
        <TerminalOutput text={shown.head} wrap={wrap.value} />
      )}
      {shown.tail !== '' && (
        <>
          <p class="muted">
            {shown.lines.toLocaleString('en')} lines: {shown.left.toLocaleString('en')} are left out here.
            Search or download sees all.
          </p>
          <TerminalOutput text={shown.tail} wrap={wrap.value} />
        </>
      )}
    </section>
  );
}
