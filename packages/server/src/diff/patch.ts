/**
 * What differs between two checkpoints as a patch in git's form, which `git apply` and `patch -p1` accept.
 *
 * - Deleted files come first, so that a directory can take the place of a file, or a file that of a directory.
 * - A patch holds only text. Other contents, and those that were not compared, are named with the line that git writes for binary
 *   files. `git apply` refuses such a patch as a whole, unless these files are excluded.
 * - The files of a patch and the bytes that are compared for it are bounded. If files are left out, the patch ends with how many, and
 *   names the first of them like a binary file: so nobody takes it for the whole.
 */
import { mapAhead } from '../basics/map-ahead.ts';
import { type ComparedCheckpoints, changedFiles, type FileChange, partsOf } from './changed-files.ts';
import { type Difference, difference } from './compared-change.ts';
import { compareBudget, FILES_MAX, stepsFor } from './effort.ts';
import { NO_BLOB } from './git-blob-id.ts';
import { gitMode, lastName, quoteName, quoteSpaces } from './git-names.ts';
import type { DiffOptions } from './list-changes.ts';
import { findRenames } from './renames.ts';

const AT_ONCE = 4;
const NOTHING = '/dev/null';
const UNCOMPARED: Difference = { kind: 'uncompared', reason: 'too_many' };

/** What a patch says about one file. */
interface Section extends FileChange {
  /** The path that the file had before. */
  renamedFrom?: string | undefined;
}

export interface PatchText {
  text: AsyncGenerator<Buffer, void>;
  /** How many changed files are not in the patch, because it would have too many. */
  leftOut: number;
}

/** Throws `artifact_not_found` at once if there is nothing to compare; the rest is done while it is read. */
export function patchBetween(checkpoints: ComparedCheckpoints, { within, ...asked }: DiffOptions): PatchText {
  const all = sectionsOf(changedFiles(checkpoints, within));
  const [sections, leftOut] = [all.slice(0, FILES_MAX), all.slice(FILES_MAX)];
  const options = { maxSteps: stepsFor(sections.length), patch: true, ...asked };
  const mayCompare = compareBudget();
  const compared = mapAhead(sections, AT_ONCE, async (section) =>
    sectionText(
      section,
      section.renamedFrom !== undefined || mayCompare(section)
        ? await difference(checkpoints, section, options)
        : UNCOMPARED,
    ),
  );
  return { text: withLeftOut(compared, leftOut), leftOut: leftOut.length };
}

async function* withLeftOut(
  compared: AsyncIterable<Buffer>,
  leftOut: readonly Section[],
): AsyncGenerator<Buffer, void> {
  yield* compared;
  const [first] = leftOut;
  if (first === undefined) return;
  yield Buffer.from(`${leftOut.length} more changed files are not in this patch. Ask for a directory.\n`);
  yield sectionText({ ...first, renamedFrom: undefined }, UNCOMPARED);
}

function sectionsOf(changes: readonly FileChange[]): Section[] {
  const renames = findRenames(changes);
  const deleted: Section[] = [];
  const others: Section[] = [];
  for (const part of changes.flatMap(partsOf)) {
    const { path, after, isKnown } = part;
    const old = renames.from.get(path);
    if (old !== undefined) others.push({ ...part, before: old.before, renamedFrom: old.path });
    else if (after !== undefined || !isKnown) others.push(part);
    else if (!renames.to.has(path)) deleted.push(part);
  }
  return [...deleted, ...others];
}

function sectionText(section: Section, found: Difference): Buffer {
  const { path, before, after, isKnown, renamedFrom } = section;
  if (renamedFrom !== undefined) return Buffer.from(renameText(section, renamedFrom), 'latin1');
  const names = { old: `a/${path}`, now: `b/${path}` };
  let head = `diff --git ${quoteName(names.old)} ${quoteName(names.now)}\n`;
  if (isKnown) head += modeLines(section);
  if (found.kind !== 'uncompared') head += indexLine(section, found.blobIds);
  if (isKnown && before === undefined) names.old = NOTHING;
  if (isKnown && after === undefined) names.now = NOTHING;
  if (found.kind !== 'text') {
    head += `Binary files ${quoteName(names.old)} and ${quoteName(names.now)} differ\n`;
    return Buffer.from(head, 'latin1');
  }
  if (found.hunks.length > 0) head += `--- ${lastName(names.old)}\n+++ ${lastName(names.now)}\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), found.hunks]);
}

function renameText(section: Section, from: string): string {
  const { path } = section;
  const names = `${quoteSpaces(`a/${from}`)} ${quoteSpaces(`b/${path}`)}`;
  return (
    `diff --git ${names}\n${modeLines(section)}similarity index 100%\n` +
    `rename from ${quoteSpaces(from)}\nrename to ${quoteSpaces(path)}\n`
  );
}

function modeLines({ before, after }: Section): string {
  if (before === undefined) return `new file mode ${gitMode(after!)}\n`;
  if (after === undefined) return `deleted file mode ${gitMode(before)}\n`;
  const [old, now] = [gitMode(before), gitMode(after)];
  return old === now ? '' : `old mode ${old}\nnew mode ${now}\n`;
}

/** With it `patch` knows links and empty files, and `git apply --3way` finds what the patch is for. */
function indexLine({ before, after }: Section, ids: { before: string; after: string } | undefined): string {
  if (ids === undefined) return '';
  const [old, now] = [before ? ids.before : NO_BLOB, after ? ids.after : NO_BLOB];
  const isSameMode = before && after && gitMode(before) === gitMode(after);
  return `index ${old}..${now}${isSameMode ? ` ${gitMode(after)}` : ''}\n`;
}
