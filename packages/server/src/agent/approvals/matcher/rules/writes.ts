/**
 * Where commands write: the table of programs and the arguments that name their targets.
 */
import type { Call, Host, RuleTable } from '../host.ts';
import { hasAny, hasLong, readOptions } from '../options.ts';
import { writePath } from './files.ts';

export const WRITE_RULES: RuleTable = {
  tee: ({ args, host }) => writeAll(readOptions(args).operands, host),
  sponge: ({ args, host }) => writeAll(readOptions(args).operands, host),
  truncate: ({ args, host }) => {
    writeAll(readOptions(args, { short: 'sr', long: ['size', 'reference'] }).operands, host);
  },
  cp: copy,
  gcp: copy,
  mv: move,
  gmv: move,
  install: copy,
  ln: copy,
  scp: copy,
  rsync: copy,
  dd: ({ args, host }) => {
    for (const arg of args) if (arg.startsWith('of=')) writePath(arg.slice(3), host);
  },
  sed: editInPlace,
  gsed: editInPlace,
  perl: editInPlace,
  ruby: editInPlace,
  awk: ({ args, host }) => {
    if (args.some((arg, i) => arg === '-i' && args[i + 1] === 'inplace')) writeAll(args.slice(2), host);
  },
  ed: editor,
  ex: editor,
  patch: editor,
  vim: editor,
  vi: editor,
  nano: editor,
  emacs: editor,
  curl: ({ args, host }) => {
    const { values } = readOptions(args, {
      short: CURL_VALUES,
      long: ['output', 'output-dir', 'cookie-jar'],
    });
    writeAll([...list(values, 'o'), ...list(values, 'output'), ...list(values, 'output-dir')], host);
  },
  wget: ({ args, host }) => {
    const { values } = readOptions(args, {
      short: 'OPoatTwQUeiB',
      long: ['output-document', 'directory-prefix'],
    });
    writeAll([...list(values, 'O'), ...list(values, 'P'), ...list(values, 'output-document')], host);
    writeAll(list(values, 'directory-prefix'), host);
  },
  tar: ({ args, host }) => {
    const { values } = readOptions(args, { short: 'Cf', long: ['directory'] });
    const cluster = args[0] ?? '';
    const extracts = /^-?[A-Za-z]*x/.test(cluster) || args.includes('--extract');
    if (extracts) writeAll([...list(values, 'C'), ...list(values, 'directory')], host);
  },
  unzip: ({ args, host }) => writeAll(list(readOptions(args, { short: 'dx' }).values, 'd'), host),
  sort: ({ args, host }) => writeAll(list(readOptions(args, { short: 'okStT' }).values, 'o'), host),
  crontab: ({ args, host }) => {
    // Anything but listing replaces or removes the schedule.
    if (!readOptions(args, { short: 'u' }).flags.has('l')) host.scope.report('overwrite system config');
  },
  visudo: ({ host }) => host.scope.report('overwrite system config'),
};

/** Short options of curl that take a value. */
const CURL_VALUES = 'oHdFuXAbceTmxUECDKPrQtwYyz';

function list(values: Map<string, string[]>, name: string): string[] {
  return values.get(name) ?? [];
}

function writeAll(paths: string[], host: Host): void {
  for (const path of paths) writePath(path, host);
}

function copy({ args, host }: Call): void {
  const { operands, values } = readOptions(args, {
    short: 'tSmgoeiFPJcl',
    long: ['target-directory', 'suffix', 'mode', 'owner', 'group', 'exclude', 'include', 'rsh'],
  });
  const folder = [...list(values, 't'), ...list(values, 'target-directory')];
  for (const target of folder.length > 0 ? folder : operands.slice(-1)) {
    // `host:path` of scp and rsync is a path over there; the rule is the same.
    const remote = /^[^/:]+:(.*)$/.exec(target);
    writePath(remote?.[1] ?? target, host);
  }
}

/** A moved file is also gone from where it was. */
function move(call: Call): void {
  copy(call);
  const { operands } = readOptions(call.args, { short: 'tS', long: ['target-directory', 'suffix'] });
  writeAll(operands, call.host);
}

function editInPlace({ args, host }: Call): void {
  const options = readOptions(args, { short: 'efEIMml', long: ['expression', 'file'] });
  if (!hasAny(options, ['i']) && !hasLong(options, 'in-place', 3)) return;
  writeAll(options.operands, host);
}

function editor({ args, host }: Call): void {
  writeAll(readOptions(args).operands, host);
}
