/**
 * Programs that run another program given in their arguments. A wrapper never lowers a verdict: what it
 * runs is classified as if it stood alone.
 * An option that is not in the table may or may not take a value; then both readings are classified.
 */
import type { Call, Rule, RuleTable } from './host.ts';
import { toSource } from './marks.ts';
import { readOptions } from './options.ts';
import { fromInput } from './rules/shells.ts';

export interface WrapperSpec {
  /** short options without a value */
  flags?: string;
  /** short options with a value */
  values?: string;
  /** long options with a value as the next word */
  long?: string[];
  /** operands before the command, such as the duration of `timeout` */
  skip?: number;
  /** `NAME=value` words before the command */
  assigns?: boolean;
}

const PLAIN: WrapperSpec = {};

const WRAPPERS: Record<string, WrapperSpec> = {
  nohup: PLAIN,
  setsid: { flags: 'cfw' },
  nice: { flags: '0123456789', values: 'n', long: ['adjustment'] },
  ionice: { flags: 't', values: 'cnpPu', long: ['class', 'classdata', 'pid'] },
  chrt: { flags: 'abdfior', values: 'TPDp', skip: 1 },
  taskset: { flags: 'ac', values: 'p', skip: 1 },
  numactl: { values: 'CNmipP' },
  cpulimit: { flags: 'bfqvz', values: 'lpec' },
  prlimit: { values: 'po' },
  timeout: { flags: 'fpv', values: 'ks', long: ['signal', 'kill-after'], skip: 1 },
  gtimeout: { flags: 'fpv', values: 'ks', long: ['signal', 'kill-after'], skip: 1 },
  time: { flags: 'apqv', values: 'fo', long: ['format', 'output'] },
  gtime: { flags: 'apqv', values: 'fo' },
  stdbuf: { values: 'ioe', long: ['input', 'output', 'error'] },
  unbuffer: { flags: 'p' },
  exec: { flags: 'cl', values: 'a' },
  builtin: PLAIN,
  busybox: PLAIN,
  toybox: PLAIN,
  strace: { flags: 'cCdfFhiknqrtTvVwxyYzZ', values: 'abeEIoOpPsSuUX' },
  ltrace: { flags: 'bcCfhirStTV', values: 'aADeFlnopsuwx' },
  dtruss: { flags: 'acdefhlLos', values: 'bntp' },
  chroot: { long: ['userspec', 'groups'], skip: 1 },
  unshare: { flags: 'imnpuUCTfrchV', values: 'RwSG', long: ['root', 'wd', 'setuid', 'setgid', 'map-user'] },
  nsenter: { flags: 'amuinpUCTrwFZeW', values: 'tSGN', long: ['target', 'setuid', 'setgid'] },
  fakeroot: { flags: 'u', values: 'lsibf' },
  'fakeroot-ng': { values: 'lp' },
  proot: { flags: '0v', values: 'rbwqk' },
  caffeinate: { flags: 'dimsu', values: 'tw' },
  'systemd-run': {
    flags: 'tPqdSGr',
    values: 'puEHM',
    long: ['unit', 'property', 'description', 'slice', 'uid', 'gid', 'setenv'],
  },
  'systemd-inhibit': { long: ['what', 'who', 'why', 'mode'] },
  'dbus-run-session': PLAIN,
  'xvfb-run': { flags: 'al', values: 'efnops', long: ['server-num', 'server-args', 'auth-file'] },
  firejail: PLAIN,
  torsocks: PLAIN,
  torify: PLAIN,
  proxychains: { flags: 'q', values: 'f' },
  proxychains4: { flags: 'q', values: 'f' },
  catchsegv: PLAIN,
  valgrind: PLAIN,
  linux32: PLAIN,
  linux64: PLAIN,
  setarch: { flags: 'RLX', skip: 1 },
  unprivileged: PLAIN,
  setpriv: { long: ['reuid', 'regid', 'groups', 'inh-caps', 'bounding-set'] },
  capsh: PLAIN,
  gosu: { skip: 1 },
  'su-exec': { skip: 1 },
  'start-stop-daemon': { flags: 'SKtbmqov', values: 'xnpucgdNPsRa', long: ['exec', 'pidfile', 'chuid'] },
  daemonize: { flags: 'av', values: 'ceolpu' },
  dumb_init: PLAIN,
  tini: { flags: 'gsvw', values: 'e' },
  'dumb-init': { flags: 'cv', values: 'r' },
  chronic: { flags: 'ev' },
  ts: PLAIN,
  ifne: { flags: 'n' },
  setlock: { flags: 'nNxX', skip: 1 },
  entr: { flags: 'acdnprsz' },
  reptyr: PLAIN,
  rlwrap: { flags: 'acmnrRvwi', values: 'CDfHlbepPqsSt' },
  winpty: PLAIN,
  arch: { flags: 'x', values: 'e' },
  doas: { flags: 'Lns', values: 'Cu' },
  pkexec: { values: 'u', long: ['user'] },
  runcon: { values: 'ctur', skip: 1 },
};

export const WRAPPER_RULES: RuleTable = Object.fromEntries(
  Object.entries(WRAPPERS).map(([name, spec]): [string, Rule] => [name, (call) => runInner(call, spec)]),
);

/** Runs what follows the wrapper's own options. */
export function runInner({ args, host, input }: Call, spec: WrapperSpec): void {
  const first = innerArgv(args, spec, false);
  if (first.argv.length > 0) host.run(first.argv, input);
  if (!first.sawUnknown) return;
  const second = innerArgv(args, spec, true);
  if (second.argv.length > 0 && second.argv.length !== first.argv.length) host.run(second.argv, input);
}

export function innerArgv(
  args: string[],
  spec: WrapperSpec,
  unknownTakesValue: boolean,
): { argv: string[]; sawUnknown: boolean } {
  let sawUnknown = false;
  let skip = spec.skip ?? 0;
  let at = 0;
  for (; at < args.length; at++) {
    const arg = args[at]!;
    if (arg === '--') {
      at += 1 + skip;
      break;
    }
    if (arg.startsWith('--')) {
      if (arg.includes('=')) continue;
      if (spec.long?.includes(arg.slice(2))) at++;
      else {
        sawUnknown = true;
        if (unknownTakesValue) at++;
      }
    } else if (arg.length > 1 && arg.startsWith('-')) {
      const taken = shortTakesNext(arg, spec);
      if (taken === undefined) sawUnknown = true;
      if (taken ?? unknownTakesValue) at++;
    } else if (spec.assigns && /^[A-Za-z_]\w*=/.test(arg)) {
      // an assignment for the environment
    } else if (skip > 0) {
      skip--;
    } else {
      break;
    }
  }
  return { argv: args.slice(at), sawUnknown };
}

/** Whether a short cluster takes the next word as its value; undefined when a letter is not known. */
function shortTakesNext(arg: string, spec: WrapperSpec): boolean | undefined {
  for (let at = 1; at < arg.length; at++) {
    if (spec.values?.includes(arg[at]!)) return at === arg.length - 1;
    if (!spec.flags?.includes(arg[at]!)) return undefined;
  }
  return false;
}

/** Joins words into the source text a shell will read again. */
export const asCode = (words: string[]): string => words.map(toSource).join(' ');

const SSH = { short: 'BbcDEeFIiJLlmOoPpQRSWw', stopAtOperand: true };

/** ssh joins its words and the far shell splits them again; without words that shell reads our input. */
export function ssh({ args, host, input }: Call): void {
  const options = readOptions(args, SSH);
  for (const setting of options.values.get('o') ?? []) {
    const command = /^\s*(?:ProxyCommand|LocalCommand|KnownHostsCommand)[\s=]+(.*)$/is.exec(setting);
    if (command) host.code(command[1]!, 'argument');
  }
  const words = options.operands.slice(1);
  if (words.length > 0) host.code(asCode(words), 'argument', [], input);
  else if (!options.flags.has('N')) fromInput(input, host);
}
