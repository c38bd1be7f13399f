/**
 * Deleting files: rm, shred, find, and commands that delete as a side effect.
 *
 * | command                                    | verdict                                  |
 * |--------------------------------------------|------------------------------------------|
 * | rm of relative files, not recursive        | allow                                    |
 * | rm of an absolute or home path             | ask: delete in root path                 |
 * | rm -r of anything                          | ask: recursive delete                    |
 * | rm -r of a place that `wipes` (paths.ts)   | never                                    |
 * | rm --no-preserve-root                      | never: it has no other use               |
 * | find with -delete or -exec rm              | ask; never if it covers such a place whole |
 */
import { NEVER } from '../families.ts';
import type { Call, Host, RuleTable } from '../host.ts';
import { ENV, HOME, LOOSE } from '../marks.ts';
import { hasAny, hasLong, readOptions } from '../options.ts';
import { deviceAt, isAbsolute, wipes } from '../paths.ts';

export const DELETE_RULES: RuleTable = {
  rm: remove,
  grm: remove,
  srm: remove,
  trash: remove,
  rimraf: ({ args, host }) => removeTree(readOptions(args).operands, host),
  'del-cli': remove,
  unlink: remove,
  shred,
  wipe: shred,
  find,
  gfind: find,
  mv: moveAway,
  rsync,
};

function remove({ args, host }: Call): void {
  const options = readOptions(args);
  const { scope } = host;
  const recursive =
    hasAny(options, ['r', 'R']) ||
    hasLong(options, 'recursive', 1) ||
    // Output of a command among the arguments may be an option.
    args.some((arg) => arg.startsWith(LOOSE));
  if (hasLong(options, 'no-preserve-root', 2)) scope.never = NEVER.wipe;
  if (scope.bulkDelete) scope.report(scope.bulkDelete);
  if (options.operands.some(isAbsolute)) scope.report('delete in root path');
  if (recursive) removeTree(options.operands, host);
}

function removeTree(targets: string[], host: Host): void {
  host.scope.report('recursive delete');
  if (targets.some((target) => wipes(target, host.scope.cwd))) host.scope.never = NEVER.wipe;
}

function shred({ args, host }: Call): void {
  const { operands } = readOptions(args, { short: 'ns', long: ['iterations', 'size', 'random-source'] });
  if (host.scope.bulkDelete) host.scope.report(host.scope.bulkDelete);
  for (const operand of operands) {
    const device = deviceAt(operand, host.scope.cwd);
    if (device === 'disk') host.scope.never = NEVER.disk;
    else if (device === 'virtual') host.scope.report('write to block device');
    else if (isAbsolute(operand)) host.scope.report('delete in root path');
  }
}

/** Moving the root or a home away removes it as surely as deleting it. */
function moveAway({ args, host }: Call): void {
  const { operands, values } = readOptions(args, { short: 'tS', long: ['target-directory', 'suffix'] });
  const sources = values.has('t') || values.has('target-directory') ? operands : operands.slice(0, -1);
  if (sources.some((source) => wipes(source, host.scope.cwd))) host.scope.never = NEVER.wipe;
}

function rsync({ args, host }: Call): void {
  if (!args.some((arg) => /^--(?:delete|del$|remove-source-files)/.test(arg))) return;
  const { operands } = readOptions(args, { short: 'efBTM', long: ['exclude', 'include', 'rsh', 'filter'] });
  removeTree(operands.slice(-1), host);
}

const FIND_RUNS = new Set(['-exec', '-execdir', '-ok', '-okdir']);
// Tests that narrow what is found; `-type` alone still covers every file.
const FIND_NARROWS =
  /^-(?:i?name|i?path|i?wholename|i?regex|i?lname|[acm]?newer..?|newer|[acm](?:min|time)|size|empty|user|group|uid|gid|perm|inum|links|nouser|nogroup|maxdepth|samefile|used|xtype|fstype|quit)$/;

function find({ args, host }: Call): void {
  const { scope } = host;
  let first = args.findIndex((arg) => /^[-(!]/.test(arg) && !/^-(?:[HLP]|O\d?|D)$/.test(arg));
  if (first < 0) first = args.length;
  const starts = args.slice(0, first).filter((arg) => !arg.startsWith('-'));
  const whole =
    starts.some((start) => wipes(start, scope.cwd)) && !args.some((arg) => FIND_NARROWS.test(arg));
  const place = starts.find((start) => start === '/' || start === HOME);
  for (let i = first; i < args.length; i++) {
    if (args[i] === '-delete') {
      scope.report('find -delete');
      if (whole) scope.never = NEVER.wipe;
    } else if (FIND_RUNS.has(args[i]!)) {
      let end = i + 1;
      while (end < args.length && args[end] !== ';' && !(args[end] === '+' && args[end - 1] === '{}')) end++;
      // `{}` is a path below a start; only `find / -exec rm -r {}` without a test meets the start itself.
      const found = whole ? (place ?? starts[0]!) : ENV;
      const argv = args.slice(i + 1, end).map((arg) => arg.replaceAll('{}', found));
      const before = scope.bulkDelete;
      scope.bulkDelete = 'find -exec rm';
      host.run(argv);
      scope.bulkDelete = before;
      if (whole && /(?:^|\/)(?:rm|unlink|shred)$/.test(argv[0] ?? '')) scope.never = NEVER.wipe;
      i = end;
    }
  }
}
