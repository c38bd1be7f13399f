/**
 * Finds the command inside a wrapper's arguments. A wrapper never lowers a verdict: what it runs is
 * classified as if it stood alone. An option that is not in the wrapper's table may or may not take a
 * value; then both readings are classified.
 */
import type { Call } from '../host.ts';
import { toSource } from '../marks.ts';

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
      // What follows the last of these belongs to the command, options too.
      if (--skip > 0) continue;
      at += args[at + 1] === '--' ? 2 : 1;
      break;
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
