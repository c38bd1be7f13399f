/**
 * The shell command behind `search_files`: find(1) and grep(1), run in the sandbox like any other command. There a
 * hostile pattern or an endless tree costs the server nothing and ends with the timeout, and files that isolation hides
 * are hidden here too.
 *
 * Without isolation this command still stays in the workspace: it refuses a directory behind a link, and find follows
 * none below it. A link that is swapped in between find and grep would be followed; but a person approved the command
 * that did so, and it could have read the target itself. Everything from a model is quoted.
 *
 * It prints records and, behind an empty path, the complaints of find and grep:
 *   content   <path> NUL <line number> (`:` for a match, `-` for context) <text> LF
 *   files     <path> NUL
 * Paths are sorted, relative to the directory and begin with `./`.
 */
import { quote } from '../isolation/shell.ts';
import { globToRegex } from './glob.ts';

export interface Search {
  target: 'content' | 'files';
  /** A regular expression for content, a glob for files. */
  pattern: string;
  /** Limits a content search to files that match this glob. */
  glob: string | undefined;
  context: number;
  /** The directory to search, as commands see it. */
  dir: string;
  /** The one file of the directory to search, if not the whole directory. */
  file: string | undefined;
}

export const EXIT = { link: 97, noEntry: 98, pattern: 99 } as const;
/** How many bytes of records are printed; what comes after them is not counted. */
export const MAX_RECORD_BYTES = 16 * 1024 * 1024;
/** A path and the start of a line: the rest of a huge line is useless. */
const MAX_LINE_BYTES = 6_000;
const MAX_COMPLAINT_BYTES = 4_000;
/** Not searched unless the search starts in one of them. */
const SKIPPED_DIRECTORIES = ['.git', 'node_modules'];

export function searchScript(search: Search): string {
  return [
    ...goTo(search.dir),
    ...(search.target === 'content' ? checkPattern(search.pattern) : []),
    // Complaints go through a variable, so that they come after the records and never between them.
    `{ complaints=$( { ${pipeline(search)} | head -c ${MAX_RECORD_BYTES} >&4; } 2>&1 | { head -c ${MAX_COMPLAINT_BYTES}; cat >/dev/null; } ); } 4>&1`,
    `printf '\\000%s' "$complaints"`,
  ].join('\n');
}

function goTo(dir: string): string[] {
  return [
    `cd -P -- ${quote(dir)} 2>/dev/null || exit ${EXIT.noEntry}`,
    `[ "$(pwd -P)" = ${quote(dir)} ] || exit ${EXIT.link}`,
  ];
}

/** Models write Perl's expressions; if grep was built without them, extended ones are used. */
function checkPattern(pattern: string): string[] {
  return [
    'flavour=-P; grep -P x /dev/null >/dev/null 2>&1; [ $? -lt 2 ] || flavour=-E',
    `message=$(grep $flavour -e ${quote(pattern)} /dev/null 2>&1); [ $? -lt 2 ] || { printf '\\000%s' "$message"; exit ${EXIT.pattern}; }`,
  ];
}

function pipeline({ target, pattern, glob, context, file }: Search): string {
  const skipped = SKIPPED_DIRECTORIES.map((name) => `-name ${name}`).join(' -o ');
  const names = target === 'files' ? pattern : glob;
  const regex = names === undefined ? '' : ` -regextype posix-extended -regex ${quote(globToRegex(names))}`;
  const type = target === 'files' ? '! -type d' : '-type f';
  const list = `find ${quote(file === undefined ? '.' : `./${file}`)} -type d \\( ${skipped} \\) -prune -o ${type}${regex} -print0 | LC_ALL=C sort -z`;
  if (target === 'files') return list;
  const grep = `grep -nHIZ -D skip --no-group-separator -C ${context} $flavour -e ${quote(pattern)} --`;
  return `${list} | xargs -0 -r ${grep} | cut -b 1-${MAX_LINE_BYTES}`;
}
