/**
 * Finds out which program a name stands for, and has it judged: by its row in the tables, as a program of the
 * workspace, or not at all, which asks.
 */
import { PROGRAMS } from '../programs/index.ts';
import { ENV, HOME, hasGlob, hasHole } from '../walk/marks.ts';
import type { Call } from './call.ts';
import { judge } from './judge.ts';
import { namesMetadata } from './metadata.ts';
import { matchesRule } from './operator-rules.ts';
import { placeOf } from './paths.ts';
import { LOADER, rowOf } from './rows.ts';
import { isOutside } from './sensitive-paths.ts';
import { runScript } from './shells.ts';

/** Directories of the machine's own programs: a program there is the one that its name says. */
const SYSTEM_BIN =
  /^\/(?:usr\/|usr\/local\/|opt\/homebrew\/|snap\/|opt\/local\/)?s?bin$|^\/usr\/(?:lib|libexec)\b/;
/** Places of programs that a package manager put into the workspace or the home. */
const LOCAL_BIN = /(?:^|\/)\.?bin$/;

/** `local`: a name without a row counts as a tool of the workspace. */
export function runProgram(call: Call, local: boolean): string {
  const { scope } = call.host;
  const { rules, budget } = scope;
  const argv = [call.name, ...call.args];
  scope.denied ??= rules.deny.find((rule) => matchesRule(rule, argv, true, budget))?.text;
  for (const rule of rules.ask) if (matchesRule(rule, argv, true, budget)) scope.askedRules.add(rule.text);
  if (!rules.allow.some((rule) => matchesRule(rule, argv, false, budget))) return identify(call, local);
  // An allowed command is still judged: it may never run, and a rule may deny or ask for a command inside it.
  const before = new Set(scope.keys);
  const output = identify(call, local);
  for (const key of scope.keys) if (!before.has(key)) scope.keys.delete(key);
  return output;
}

function identify(call: Call, local: boolean): string {
  const { scope } = call.host;
  const path = call.name;
  // A tool may take its whole command as one word.
  if (local && /\s/.test(path)) return call.host.code([path, ...call.args].join(' '), 'argument');
  const slash = path.lastIndexOf('/');
  const name = path.slice(slash + 1);
  for (const arg of call.args)
    if (namesMetadata(arg) && !isText(name)) scope.report('cloud metadata address');
  const row = rowOf(name);
  if (slash < 0) {
    if (row !== undefined) return judge({ ...call, name: row }, row, PROGRAMS.get(row)!);
    if (hasHole(path)) scope.report('command hidden behind expansion');
    else if (!local) scope.report('unknown program');
    return ENV;
  }
  const { base, segments } = placeOf(path, scope.cwd);
  const folder = `${base}${segments.slice(0, -1).join('/')}`;
  const system = base === '/' && SYSTEM_BIN.test(folder);
  const here = system || LOCAL_BIN.test(folder) || hasHole(path.slice(0, slash)) || path.startsWith(HOME);
  if (LOADER.test(name) && !here) return judge({ ...call, name: 'ld.so' }, 'ld.so', PROGRAMS.get('ld.so')!);
  if (row !== undefined && here) return judge({ ...call, name: row }, row, PROGRAMS.get(row)!);
  if (
    base === '/' &&
    segments[0] === 'etc' &&
    /^(?:stop|restart|reload|force-reload)$/.test(call.args[0] ?? '')
  ) {
    scope.report('stop/restart system service');
  } else if (system || (isOutside(path, scope.cwd) && !hasGlob(path))) {
    scope.report('unknown program');
  }
  return runScript({ ...call, name }, path, call.args);
}

/** Programs that only show or store their words. */
function isText(name: string): boolean {
  return /^(?:echo|printf|grep|egrep|fgrep|rg|ag|git|test|\[|export|read|sed|awk|jq|cat)$/.test(name);
}
