/**
 * Reads the arguments of a known program as its row of the table says, in one pass: which options it has, with which
 * values, and what each operand is. Words that the row does not list are returned as unknown.
 */
import type { Option, Program } from '../programs/table.ts';

export interface GivenOption {
  name: string;
  option: Option;
  value: string | undefined;
}

export interface Given {
  options: GivenOption[];
  operands: string[];
  /** Kind of each operand. */
  kinds: string[];
  /** Options that the row does not list. */
  unknown: string[];
  /** Values after the `=` of options that need not be listed. */
  values: string[];
  /** From the first operand whose kind takes all that follows. */
  rest: { kind: string; words: string[] } | undefined;
  harmless: boolean;
  /** Whether a word that cannot be read stands where an option could. */
  hidden: boolean;
}

/** Kinds that take every word that follows. */
const TAKES_REST = new Set([
  'cmd',
  'tool',
  'script',
  'shell',
  'sub',
  'remote',
  'assigned',
  'target',
  'texts',
  'kexec',
  'skip-to-cmd',
  'somewhere',
]);

/** Text of this line that was transformed, or that came from elsewhere: it may be an option. */
const UNREADABLE = /^[\uE001\uE003\uE004]/;
const HELP = /^--(?:help|version)$/;

export function readArguments(args: string[], program: Program): Given {
  const given: Given = {
    options: [],
    operands: [],
    kinds: [],
    unknown: [],
    values: [],
    rest: undefined,
    harmless: false,
    hidden: false,
  };
  const { style, posix, operands } = program;
  const last = operands.filter((kind) => !kind.endsWith('$'));
  let ended = false;
  for (let at = 0; at < args.length; at++) {
    const arg = args[at]!;
    if (!ended && isOption(arg, program)) {
      if (arg === '--') ended = true;
      else if (HELP.test(arg) && style === 'gnu' && (!posix || args.length === 1)) given.harmless = true;
      else at += readOption(arg, args[at + 1], program, given);
      // The words after code or a module are its own arguments.
      if (posix && /^(?:code|pymodule|split)$/.test(given.options.at(-1)?.option.value ?? '')) {
        given.rest = { kind: 'texts', words: args.slice(at + 1) };
        break;
      }
      continue;
    }
    const kind = last[Math.min(given.operands.length, last.length - 1)] ?? 'text';
    if (TAKES_REST.has(kind)) {
      given.rest = { kind, words: args.slice(at) };
      break;
    }
    if (UNREADABLE.test(arg)) given.hidden = true;
    if (posix) ended = true;
    given.operands.push(arg);
    given.kinds.push(kind);
  }
  const final = operands.find((kind) => kind.endsWith('$'));
  const named = given.options.some(({ name }) => name === '-t' || name === '--target-directory');
  if (final && !named && given.operands.length > 1) given.kinds[given.kinds.length - 1] = final.slice(0, -1);
  if (given.options.some(({ option }) => option.inPlace))
    given.kinds = given.kinds.map((kind) => (kind === 'read' ? 'write' : kind));
  return given;
}

function isOption(arg: string, { style, options }: Program): boolean {
  if (style === 'assign') return /^[A-Za-z]+=/.test(arg) || (arg.startsWith('-') && arg !== '-');
  if (arg === '-') return options.has('-');
  return arg.startsWith('-') || (arg.startsWith('+') && options.has('+'));
}

/** Returns how many further words it took. */
function readOption(arg: string, next: string | undefined, program: Program, given: Given): number {
  const { style, options } = program;
  if (arg === '-' || arg.startsWith('+')) {
    given.options.push({ name: arg, option: options.get(arg[0]!)!, value: undefined });
    return 0;
  }
  if (style === 'assign') {
    const equals = arg.indexOf('=') + 1;
    if (equals === 0) return add(arg, undefined, next);
    return add(arg.slice(0, equals), equals > 0 ? arg.slice(equals) : undefined, next);
  }
  if (arg.startsWith('--') || style === 'single') return readLong();
  return readCluster();

  function readLong(): number {
    const equals = arg.indexOf('=');
    const name = equals < 0 ? arg : arg.slice(0, equals);
    return add(name, equals < 0 ? undefined : arg.slice(equals + 1), next);
  }

  function readCluster(): number {
    for (let at = 1; at < arg.length; at++) {
      const name = `-${arg[at]}`;
      const option = options.get(name);
      const rest = arg.slice(at + 1);
      if (option?.value !== undefined && !option.optional) return add(name, rest || undefined, next);
      if (option?.optional && rest !== '') return add(name, rest, next);
      add(name, undefined, undefined);
    }
    return 0;
  }

  function add(name: string, value: string | undefined, following: string | undefined): number {
    const option = find(name);
    if (option === undefined) {
      if (!program.any) given.unknown.push(name);
      else if (value !== undefined) given.values.push(value);
      return 0;
    }
    const takesNext = value === undefined && option.value !== undefined && !option.optional;
    if (option.harmless) given.harmless = true;
    given.options.push({ name, option, value: takesNext ? following : value });
    return takesNext ? 1 : 0;
  }

  function find(name: string): Option | undefined {
    const exact =
      options.get(name) ?? (style === 'single' ? options.get(name.replace(/^--/, '-')) : undefined);
    if (exact !== undefined || name.length < 4) return exact;
    // GNU accepts any prefix of a long name, so the most dangerous option with this prefix counts.
    if (name.startsWith('--')) {
      const meant = [...options].filter(([known]) => known.startsWith(name));
      return (meant.find(([, { finding, value }]) => finding ?? value) ?? meant[0])?.[1];
    }
    // `-Wl,…` and `-XX:OnError=…`: one dash, and the beginning is the name.
    const stem = [...options.keys()].find(
      (known) => known.endsWith('*') && name.startsWith(known.slice(0, -1)),
    );
    return stem === undefined ? undefined : options.get(stem);
  }
}
