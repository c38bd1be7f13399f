/**
 * find: a small language of its own. Tests and actions that are not listed ask.
 */
import { NEVER } from '../families.ts';
import { ENV } from '../walk/marks.ts';
import type { Call } from './call.ts';
import { isAbsolute, wipes } from './paths.ts';
import { readPath, writePath } from './sensitive-paths.ts';

const RUNS = /^-(?:exec|execdir|ok|okdir)$/;
const WRITES = /^-(?:fprint|fprint0|fls|fprintf)$/;
/** Tests with a value that narrow what is found. */
const NARROWS =
  /^-(?:i?name|i?path|i?wholename|i?regex|i?lname|[acB]?newer(?:[aBcm][aBcmt])?|[acm](?:min|time)|size|user|group|uid|gid|perm|inum|links|maxdepth|samefile|used|xtype|fstype)$/;
const VALUES = /^-(?:type|mindepth|regextype|printf|D|context|files0-from)$/;
const FLAGS =
  /^-(?:print0?|ls|prune|quit|true|false|not|and|or|a|o|depth|d|daystart|follow|ignore_readdir_race|mount|xdev|noleaf|warn|nowarn|empty|readable|writable|executable|nouser|nogroup|help|version|H|L|P|E|X|x|s|O\d?)$|^--(?:help|version)$/;

export function find({ args, host }: Call): string {
  const { scope } = host;
  // Any of these words could be a test or an action.
  if (args.some((arg) => /^[\uE001\uE003\uE004]/.test(arg))) scope.report('command hidden behind expansion');
  let first = args.findIndex((arg) => /^[-(!]/.test(arg) && !/^-(?:[HLPEXxs]|O\d?|D)$/.test(arg));
  if (first < 0) first = args.length;
  const starts = args.slice(0, first).filter((arg) => !arg.startsWith('-'));
  for (const start of starts) readPath(start, host);
  const narrowed = args.some((arg) => NARROWS.test(arg) || arg === '-empty' || arg === '-quit');
  const whole = starts.some((start) => wipes(start, scope.cwd)) && !narrowed;
  for (let i = first; i < args.length; i++) {
    const arg = args[i]!;
    if (arg === '-delete') {
      scope.report('find -delete');
      if (whole) scope.never = NEVER.wipe;
    } else if (RUNS.test(arg)) {
      let end = i + 1;
      while (end < args.length && args[end] !== ';' && !(args[end] === '+' && args[end - 1] === '{}')) end++;
      runEach(args.slice(i + 1, end));
      i = end;
    } else if (WRITES.test(arg)) {
      writePath(args[i + 1] ?? '', host);
      i += arg === '-fprintf' ? 2 : 1;
    } else if (NARROWS.test(arg) || VALUES.test(arg)) {
      i++;
    } else if (!FLAGS.test(arg) && !/^[()!,]$/.test(arg)) {
      scope.report('unknown option or argument');
    }
  }
  return ENV;

  /** `{}` is a path below a start; only without a test it is the start itself. */
  function runEach(words: string[]): void {
    const start = starts.find(isAbsolute);
    const below = start === undefined ? ENV : `${start}/${ENV}`;
    const found = whole ? starts.find((each) => wipes(each, scope.cwd))! : below;
    const argv = words.map((word) => word.replaceAll('{}', found));
    const before = scope.bulkDelete;
    scope.bulkDelete = 'find -exec rm';
    host.run(argv);
    scope.bulkDelete = before;
    if (whole && /(?:^|\/)(?:rm|unlink|shred)$/.test(argv[0] ?? '')) scope.never = NEVER.wipe;
  }
}
