/**
 * Commands that change what the shell itself knows: assignments, directories, aliases, positional words.
 */
import { type ExpansionHost, expandFields, expandValue } from './expand.ts';
import type { Host } from './host.ts';
import { ENV, HOME, OPAQUE } from './marks.ts';
import { readOptions } from './options.ts';
import { pathKey } from './paths.ts';
import type { Assignment, Word } from './syntax.ts';

/** Variables whose value programs hand to a shell. */
const RUNS_VALUE =
  /^(?:GIT_SSH_COMMAND|GIT_SSH|GIT_EDITOR|GIT_SEQUENCE_EDITOR|GIT_PAGER|GIT_EXTERNAL_DIFF|GIT_ASKPASS|EDITOR|VISUAL|PAGER|MANPAGER|LESSOPEN|PROMPT_COMMAND|BROWSER|SUDO_ASKPASS|SSH_ASKPASS|RSYNC_RSH|TAR_OPTIONS|PS4|BASH_ENV|FZF_DEFAULT_COMMAND)$/;
const DECLARES = new Set(['export', 'declare', 'typeset', 'local', 'readonly']);
const WORD_ASSIGNMENT = /^([A-Za-z_]\w*)(?:\[[^\]]*\])?(\+?)=([\s\S]*)$/;

export function assignAll(
  assignments: Assignment[],
  forOneCommand: boolean,
  host: Host & ExpansionHost,
): void {
  const { scope } = host;
  for (const { name, index, append, value, items } of assignments) {
    const added = items
      ? items.flatMap((item) => expandFields(withoutIndex(item), host))
      : [expandValue(value, host)];
    const old = append || index ? (scope.lookup(name) ?? []) : [];
    const next = items
      ? [...old, ...added]
      : index
        ? [...old, ...added]
        : [(append ? (old[0] ?? ENV) : '') + added[0]!];
    if (append && !items && old.length === 0) next[0] = added[0]!;
    if (forOneCommand) scope.assign(name, next, false);
    else scope.assign(name, next);
    runValue(name, next, host);
  }
}

/** `[0]=rm` inside `name=(…)` is the element `rm`. */
function withoutIndex(item: Word): Word {
  const [first, ...rest] = item;
  if (first?.kind !== 'text' || first.quoted) return item;
  return [{ ...first, text: first.text.replace(/^\[[^\]]*\]=/, '') }, ...rest];
}

export function runBuiltin(argv: string[], host: Host): void {
  const { scope } = host;
  const [name = '', ...args] = argv;
  if (DECLARES.has(name)) {
    for (const arg of args) {
      const found = WORD_ASSIGNMENT.exec(arg);
      if (!found) continue;
      const old = found[2] === '+' ? (scope.lookup(found[1]!)?.[0] ?? '') : '';
      scope.assign(found[1]!, [old + found[3]!]);
      runValue(found[1]!, [found[3]!], host);
    }
    return;
  }
  switch (name) {
    case 'cd':
    case 'pushd': {
      const target = readOptions(args).operands[0];
      // `cd -` goes somewhere this line does not show.
      const place = target === undefined ? HOME : (scope.links.get(pathKey(target, scope.cwd)) ?? target);
      scope.cwd = target === '-' ? undefined : changed(place, scope.cwd);
      break;
    }
    case 'popd':
      scope.cwd = undefined;
      break;
    case 'alias':
      for (const arg of args) {
        const equals = arg.indexOf('=');
        if (equals <= 0) continue;
        scope.aliases.set(arg.slice(0, equals), arg.slice(equals + 1));
        host.code(arg.slice(equals + 1), 'argument');
      }
      break;
    case 'hash':
      if (args[0] === '-p' && args[1] !== undefined) {
        for (const target of args.slice(2)) scope.aliases.set(target, args[1]);
      }
      break;
    case 'set': {
      const at = args.indexOf('--');
      if (at >= 0) scope.positional = args.slice(at + 1);
      break;
    }
    case 'shift':
      scope.positional = scope.positional?.slice(Number(args[0]) || 1);
      break;
    case 'read':
    case 'mapfile':
    case 'readarray':
    case 'getopts':
      for (const variable of readOptions(args, { short: 'adinNptuCcOs' }).operands) unknown(variable, host);
      break;
    case 'printf':
      if (args[0] === '-v') unknown(args[1] ?? '', host);
      break;
  }
}

function changed(target: string, cwd: string | undefined): string | undefined {
  const key = pathKey(target, cwd);
  if (key.startsWith('~/')) return HOME + key.slice(1);
  return key.startsWith('/') ? key : undefined;
}

function unknown(name: string, { scope }: Host): void {
  if (/^[A-Za-z_]\w*$/.test(name)) scope.assign(name, [OPAQUE]);
}

function runValue(name: string, value: string[], host: Host): void {
  if (RUNS_VALUE.test(name))
    for (const text of value) if (/\s/.test(text.trim())) host.code(text, 'argument');
}
