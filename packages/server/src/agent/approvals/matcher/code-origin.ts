/**
 * Source text that reaches a shell: what it may be accused of for where it comes from, before it is read.
 */
import type { CodeOrigin } from './host.ts';
import { DECODED, ENV, isHole, REMOTE } from './marks.ts';
import type { Scope } from './scope.ts';

/** Reports the origin; returns the text to read on, or undefined when none of it is visible. */
export function visibleCode(text: string, origin: CodeOrigin, scope: Scope): string | undefined {
  const substituted = origin === 'argument' || origin === 'process';
  if (text.includes(REMOTE)) {
    scope.report(substituted ? 'execute remote script via substitution' : 'pipe remote content to shell');
  }
  if (text.includes(DECODED)) scope.report('pipe decoded content to shell');
  if (origin === 'heredoc') scope.report('heredoc to a shell');
  const known = text.includes(REMOTE) || text.includes(DECODED);
  if (origin === 'pipe' && !known) scope.report('script piped to a shell');
  if (substituted && !known && /[\uE001\uE002]/.test(text)) scope.report('command hidden behind expansion');
  // After a text that was decoded here the mark only tells its origin; elsewhere it stands for something.
  const visible = text.replace(/(?<=[^\uE000-\uE004])\uE004$/, '').replace(/[\uE001-\uE004]/g, ENV);
  if (isHole(visible.trim()) && (origin !== 'argument' || known)) return undefined;
  return visible;
}
