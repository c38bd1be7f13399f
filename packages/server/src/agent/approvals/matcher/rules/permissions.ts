/**
 * Permissions: a mode that lets everybody write, and giving a tree to root.
 */
import type { Call, RuleTable } from '../host.ts';
import { hasAny, hasLong, readOptions } from '../options.ts';

export const PERMISSION_RULES: RuleTable = {
  chmod: ({ args, host }) => {
    const options = readOptions(args.filter((arg) => !SYMBOLIC_REMOVAL.test(arg)));
    const [mode] = options.operands;
    if (options.values.has('reference')) return;
    if (mode !== undefined && letsOthersWrite(mode)) host.scope.report('world/other-writable permissions');
  },
  mkdir: withModeOption,
  install: withModeOption,
  mkfifo: withModeOption,
  umask: ({ args, host }) => {
    if (args.some((arg) => /^0{1,4}$/.test(arg))) host.scope.report('world/other-writable permissions');
  },
  setfacl: ({ args, host }) => {
    if (args.some((arg) => /(?:^|,)(?:d:|default:)?o(?:ther)?::?[rx-]*w/.test(arg))) {
      host.scope.report('world/other-writable permissions');
    }
  },
  chown: ({ args, host }) => {
    const options = readOptions(args, { long: ['from', 'reference'] });
    const owner = options.operands[0] ?? '';
    const recursive = hasAny(options, ['R']) || hasLong(options, 'recursive', 3);
    if (recursive && /^(?:root|0)(?:[:.].*)?$/.test(owner)) host.scope.report('recursive chown to root');
  },
};

// `chmod -w file` takes a permission away; it is a mode although it looks like an option.
const SYMBOLIC_REMOVAL = /^-[rwxXst]+$/;

function withModeOption({ args, host }: Call): void {
  const { values } = readOptions(args, {
    short: 'mgotS',
    long: ['mode', 'owner', 'group', 'target-directory'],
  });
  const modes = [...(values.get('m') ?? []), ...(values.get('mode') ?? [])];
  if (modes.some(letsOthersWrite)) host.scope.report('world/other-writable permissions');
}

/** Octal with the write bit for others, or a symbolic clause that adds or sets it. */
function letsOthersWrite(mode: string): boolean {
  if (/^[0-7]{1,5}$/.test(mode)) return (Number.parseInt(mode.at(-1)!, 8) & 2) !== 0;
  return mode.split(',').some((clause) => {
    const found = /^([ugoa]*)((?:[-+=][rwxXstugo]*)+)$/.exec(clause);
    if (!found || !/[oa]/.test(found[1]!)) return false;
    return /[+=][rxXst]*w/.test(found[2]!);
  });
}
