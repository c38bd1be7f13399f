/**
 * Builtins that change what the shell itself knows: variables, the directory, aliases, positional words.
 */
import { ENV, HIDDEN, HOME, REMOTE } from '../walk/marks.ts';
import type { Given } from './arguments.ts';
import type { Call, Host } from './call.ts';
import { pathKey } from './paths.ts';
import { assignVariable, evaluate } from './variables.ts';

const ASSIGNED = /^([A-Za-z_][\w%()]*)(?:\[[^\]]*\])?(\+?)=([\s\S]*)$/;

/** export, declare, local, readonly, typeset */
export function declare({ args, host }: Call): void {
  const isReference = args.some((arg) => /^-\w*n/.test(arg));
  for (const arg of args) {
    const [, name, append, value = ''] = ASSIGNED.exec(arg) ?? [];
    // A subscript is evaluated, in quotes too.
    evaluate(arg, host);
    if (name === undefined) continue;
    if (isReference) {
      host.scope.refer(name, value);
      continue;
    }
    const old = append === '+' ? (host.scope.lookup(name)?.[0]?.[0] ?? '') : '';
    host.scope.assign(name, [old + value]);
    assignVariable(name, value, host);
  }
}

export function changeDirectory({ name, host }: Call, { operands }: Given): void {
  const { scope } = host;
  const [target = HOME] = operands;
  if (name === 'popd' || target === '-' || operands.length > 1) {
    scope.cwd = undefined;
    return;
  }
  const key = pathKey(target, scope.cwd);
  if (key.startsWith('~/')) scope.cwd = HOME + key.slice(1);
  else scope.cwd = key.startsWith('/') ? key : undefined;
}

/** An alias is code under a name. */
export function alias({ args, host }: Call): void {
  for (const arg of args) {
    const equals = arg.indexOf('=');
    if (equals <= 0) continue;
    host.scope.aliases.set(arg.slice(0, equals), arg.slice(equals + 1));
    host.code(arg.slice(equals + 1), 'argument');
  }
}

/** `set -- words`, and the options of the shell. */
export function set({ args, host }: Call): void {
  const at = args.findIndex((arg) => arg === '--' || !/^[-+]/.test(arg));
  if (at < 0) return;
  const option = at > 0 && /^[-+]\w*o$/.test(args[at - 1]!);
  if (option) return;
  host.scope.positional = args.slice(args[at] === '--' ? at + 1 : at);
}

export function shift({ args, host }: Call): void {
  host.scope.positional = host.scope.positional?.slice(Number(args[0]) || 1);
}

/** read, mapfile, getopts: their variables hold what they read. */
export function readInto({ host, input, args }: Call, { operands }: Given): void {
  const text = input?.text ?? ENV;
  for (const word of [text, ...args]) evaluate(word, host);
  const value = text.includes(REMOTE) ? REMOTE : text.includes(ENV) ? ENV : HIDDEN;
  for (const name of operands.length > 0 ? operands : ['REPLY', 'MAPFILE']) unknown(name, value, host);
}

export function printfInto({ args, host }: Call): void {
  if (args[0] !== '-v') return;
  for (const arg of args) evaluate(arg, host);
  unknown(args[1] ?? '', HIDDEN, host);
}

/** test, [ and let evaluate what is in their words. */
export function evaluates({ args, host }: Call): void {
  for (const arg of args) evaluate(arg, host);
}

function unknown(name: string, value: string, { scope }: Host): void {
  if (/^[A-Za-z_]\w*$/.test(name)) scope.assign(name, [value]);
}
