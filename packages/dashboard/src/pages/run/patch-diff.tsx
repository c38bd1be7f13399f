/** A change to files as a diff. What compares two texts is loaded when it is needed. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { DiffLines } from './diff-lines.tsx';
import { countLines, type DiffLine, type Patch, patchLines } from './patch-lines.ts';

export { patchOf } from './patch-lines.ts';

/** Each line is a node of the page. */
const LINES_MAX = 200;

export function PatchDiff({ patch }: { patch: Patch }) {
  const lines = useLines(patch);
  const { added, removed } = countLines(lines);
  return (
    <figure class="diff">
      <figcaption>
        {'path' in patch && <bdi>{patch.path}</bdi>} <span class="good">+{added}</span>{' '}
        <span class="bad">−{removed}</span>
      </figcaption>
      <DiffLines lines={lines.slice(0, LINES_MAX)} />
      {lines.length > LINES_MAX && <p class="muted">{lines.length - LINES_MAX} more lines: see the call.</p>}
    </figure>
  );
}

function useLines(patch: Patch): DiffLine[] {
  const given = useMemo(() => ('patch' in patch ? patchLines(patch.patch) : replaced(patch)), [patch]);
  const [compared, setCompared] = useState<DiffLine[]>();
  useEffect(() => {
    if ('patch' in patch) return;
    let wanted = true;
    import('./compare-texts.ts').then(
      ({ compareTexts }) => {
        if (wanted) setCompared(compareTexts(patch.old_string, patch.new_string));
      },
      () => {},
    );
    return () => {
      wanted = false;
    };
  }, [patch]);
  return compared ?? given;
}

/** Until it is compared: all of the old, then all of the new. */
function replaced({ old_string, new_string }: Exclude<Patch, { patch: string }>): DiffLine[] {
  const of = (text: string, kind: DiffLine['kind']) =>
    text === ''
      ? []
      : text
          .replace(/\n$/, '')
          .split('\n')
          .map((line) => ({ kind, text: line }));
  return [...of(old_string, 'removed'), ...of(new_string, 'added')];
}
