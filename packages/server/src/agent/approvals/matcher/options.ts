/**
 * Reads an argument list the way GNU getopt does: clustered short options, `--name=value`, options
 * after operands, `--`. A hole may be empty, so `${x}-rf` counts as `-rf`.
 */
import { hasHole, withoutHoles } from './marks.ts';

export interface Options {
  /** short letters and long names as written, without dashes */
  flags: Set<string>;
  /** values by option, for those declared to take one */
  values: Map<string, string[]>;
  operands: string[];
}

export interface OptionSpec {
  /** short options that take a value */
  short?: string;
  /** long options that take a value as the next word */
  long?: string[];
  /** stop at the first operand, as programs do that run the rest */
  stopAtOperand?: boolean;
}

export function readOptions(args: string[], spec: OptionSpec = {}): Options {
  const options: Options = { flags: new Set(), values: new Map(), operands: [] };
  const addValue = (name: string, value: string) => {
    const list = options.values.get(name);
    if (list) list.push(value);
    else options.values.set(name, [value]);
  };
  for (let i = 0; i < args.length; i++) {
    const raw = args[i]!;
    const arg = hasHole(raw) && withoutHoles(raw).startsWith('-') ? withoutHoles(raw) : raw;
    if (arg === '--') {
      options.operands.push(...args.slice(i + 1));
      break;
    }
    if (arg.startsWith('--')) {
      const equals = arg.indexOf('=');
      const name = equals < 0 ? arg.slice(2) : arg.slice(2, equals);
      options.flags.add(name);
      if (equals >= 0) addValue(name, arg.slice(equals + 1));
      else if (spec.long?.includes(name)) addValue(name, args[++i] ?? '');
    } else if (arg.length > 1 && arg.startsWith('-')) {
      // Clusters are short; a long "cluster" is text that happens to begin with a dash.
      for (let at = 1; at < Math.min(arg.length, 40); at++) {
        const letter = arg[at]!;
        options.flags.add(letter);
        if (!spec.short?.includes(letter)) continue;
        const attached = arg.slice(at + 1);
        addValue(letter, attached === '' ? (args[++i] ?? '') : attached);
        break;
      }
    } else {
      if (spec.stopAtOperand) {
        options.operands.push(...args.slice(i));
        break;
      }
      options.operands.push(raw);
    }
  }
  return options;
}

/** Whether a long option was given, also abbreviated to at least `shortest` characters. */
export function hasLong(options: Options, name: string, shortest = name.length): boolean {
  for (const flag of options.flags) {
    if (flag.length > 1 && flag.length >= shortest && name.startsWith(flag)) return true;
  }
  return false;
}

export function hasAny(options: Options, names: string[]): boolean {
  return names.some((name) => options.flags.has(name));
}
