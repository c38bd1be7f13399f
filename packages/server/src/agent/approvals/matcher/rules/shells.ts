/**
 * Shells. `sh -c text` is judged by what the text runs: it is fully visible, and agents wrap harmless
 * commands in it all day. A script on standard input asks in any case (PROTOCOL.md), and is
 * also judged by what it runs.
 */
import type { Call, CodeOrigin, RuleTable } from '../host.ts';
import type { Input } from '../scope.ts';

const SHELLS = 'sh bash zsh dash ksh mksh ash fish csh tcsh rbash rzsh yash posh hush lksh pdksh oksh';

export const SHELL_NAMES: ReadonlySet<string> = new Set(SHELLS.split(' '));

/** Names under which a shell other than bash may answer. */
const POSIX_SHELLS = new Set(['sh', 'dash', 'ash', 'posh', 'hush']);

export const SHELL_RULES: RuleTable = {
  ...Object.fromEntries([...SHELL_NAMES].map((name) => [name, shell])),
  eval: ({ args, host, input }) => {
    host.code((args[0] === '--' ? args.slice(1) : args).join(' '), 'argument', undefined, input);
  },
  source: sourced,
  '.': sourced,
  trap: ({ args, host }) => {
    const [first] = args.filter((arg) => arg !== '--');
    if (first !== undefined && args.length > 1 && !/^-[lp]$/.test(first)) host.code(first, 'argument');
  },
  // These hand their standard input, or the words after a time, to a shell later.
  at: ({ args, input, host }) => {
    if (!args.some((arg) => /^-[lrdc]$/.test(arg))) fromInput(input, host);
  },
  batch: ({ input, host }) => fromInput(input, host),
};

const WITH_VALUE = /^(?:[-+][oO]|--rcfile|--init-file|--login-file)$/;

function shell({ name, args, input, host }: Call): void {
  let command = false;
  let stdin = false;
  let at = 0;
  for (; at < args.length; at++) {
    const arg = args[at]!;
    if (arg === '--' || arg === '-') {
      at++;
      break;
    }
    if (!/^[-+]./.test(arg)) break;
    if (WITH_VALUE.test(arg)) at++;
    else if (/^-[A-Za-z]*c/.test(arg)) command = true;
    else if (/^-[A-Za-z]*s[A-Za-z]*$/.test(arg)) stdin = true;
  }
  const [script, ...rest] = args.slice(at);
  if (command) {
    if (script === undefined) return;
    if (rest[0] !== undefined) host.scope.assign('0', [rest[0]], false);
    const before = host.scope.posix;
    host.scope.posix = POSIX_SHELLS.has(name);
    host.code(script, 'argument', rest.slice(1), input);
    host.scope.posix = before;
  } else if (script === undefined || stdin || isStdin(script)) {
    fromInput(input, host, stdin ? args.slice(at) : rest);
  } else {
    runFile(script, rest, { args, input, host, name: '' });
  }
}

export function isStdin(path: string): boolean {
  return path === '/dev/stdin' || path === '/dev/fd/0' || path === '/proc/self/fd/0' || path === '-';
}

/** A script on standard input. A redirect from a plain file is no different from naming the file. */
export function fromInput(input: Input | undefined, host: Call['host'], positional: string[] = []): void {
  if (input) host.code(input.text, input.via, positional);
}

function sourced({ args, input, host }: Call): void {
  const [path, ...rest] = args[0] === '--' ? args.slice(1) : args;
  if (path === undefined) return;
  if (isStdin(path)) fromInput(input, host, rest);
  else runFile(path, rest, { args, input, host, name: '' });
}

/** A script whose content this line wrote is read; `<(…)` always is. */
export function runFile(path: string, positional: string[], { host }: Call): void {
  const text = host.read(path);
  if (text === undefined) return;
  const origin: CodeOrigin = path.startsWith('/dev/fd/') ? 'process' : 'file';
  host.code(text, origin, positional);
}
