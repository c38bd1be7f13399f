/**
 * Where commands write: the table of programs and the arguments that name their targets.
 */
import type { Call, Host, RuleTable } from '../host.ts';
import { REMOTE } from '../marks.ts';
import { hasAny, hasLong, readOptions } from '../options.ts';
import { pathKey } from '../paths.ts';
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
  ln: (call) => {
    copy(call);
    const [source, target] = readOptions(call.args, { short: 'tS' }).operands;
    const { scope } = call.host;
    if (target !== undefined) scope.links.set(pathKey(target, scope.cwd), source!);
  },
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
    const { flags, operands, values } = readOptions(args, {
      short: CURL_VALUES,
      long: ['output', 'output-dir', 'cookie-jar', 'header', 'data', 'request', 'user', 'url', 'form'],
    });
    const named = [...list(values, 'o'), ...list(values, 'output')];
    const byUrl = flags.has('O') || flags.has('remote-name') || flags.has('remote-name-all');
    download([...named, ...(byUrl ? operands.map(fileOfUrl) : [])], host);
    writeAll(list(values, 'output-dir'), host);
  },
  wget: ({ args, host }) => {
    const { operands, values } = readOptions(args, {
      short: 'OPoatTwQUeiB',
      long: ['output-document', 'directory-prefix', 'header', 'post-data', 'user-agent', 'timeout', 'tries'],
    });
    const named = [...list(values, 'O'), ...list(values, 'output-document')];
    const folders = [...list(values, 'P'), ...list(values, 'directory-prefix')];
    writeAll(folders, host);
    const folder = folders[0] === undefined ? '' : `${folders[0]}/`;
    download(named.length > 0 ? named : operands.map((url) => folder + fileOfUrl(url)), host);
  },
  aria2c: ({ args, host }) => {
    const { operands, values } = readOptions(args, { short: 'odxsji', long: ['out', 'dir'] });
    const folder = (values.get('d') ?? values.get('dir'))?.[0];
    const names = [...list(values, 'o'), ...list(values, 'out')];
    const files = names.length > 0 ? names : operands.map(fileOfUrl);
    download(
      files.map((file) => (folder === undefined ? file : `${folder}/${file}`)),
      host,
    );
  },
  tar: ({ args, host }) => {
    const { values } = readOptions(args, { short: 'Cf', long: ['directory'] });
    const cluster = args[0] ?? '';
    const extracts = /^-?[A-Za-z]*x/.test(cluster) || args.includes('--extract');
    if (extracts) writeAll([...list(values, 'C'), ...list(values, 'directory')], host);
  },
  unzip: ({ args, host }) => writeAll(list(readOptions(args, { short: 'dx' }).values, 'd'), host),
  sort: ({ args, host }) => writeAll(list(readOptions(args, { short: 'okStT' }).values, 'o'), host),
  crontab: ({ args, input, host }) => {
    // Anything but listing replaces or removes the schedule.
    if (readOptions(args, { short: 'u' }).flags.has('l')) return;
    host.scope.report('overwrite system config');
    for (const entry of (input?.text ?? '').matchAll(/^[ \t]*(?:@\w+|(?:[^\s#]+[ \t]+){5})(\S[^\n]*)/gm)) {
      host.code(entry[1]!, 'file');
    }
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

function fileOfUrl(url: string): string {
  return (
    url
      .replace(/[?#].*$/s, '')
      .split('/')
      .at(-1) || 'index.html'
  );
}

/** What came from the network is remembered as such, for a later command that runs it. */
function download(paths: string[], host: Host): void {
  for (const path of paths) {
    if (path === '-') continue;
    writePath(path, host);
    host.write(path, REMOTE);
  }
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
  const [source, target] = operands;
  const content = source !== undefined && target !== undefined ? host.read(source) : undefined;
  if (content !== undefined) host.write(target!, content);
  const program = source?.split('/').at(-1);
  if (program && target !== undefined) host.scope.programs.set(pathKey(target, host.scope.cwd), program);
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
