/**
 * One command with its words: which program it is, and every rule that applies to it.
 * A program whose name cannot be told asks, unless no gated program could have that name.
 */

import type { Call, Rule, RuleTable } from './host.ts';
import {
  couldBe,
  DECODED,
  ENV,
  HOME,
  hasGlob,
  hasHole,
  isHole,
  LOOSE,
  OPAQUE,
  REMOTE,
  STAR,
  withoutHoles,
} from './marks.ts';
import { printed } from './output.ts';
import { pathKey, placeOf } from './paths.ts';
import { DELETE_RULES } from './rules/delete.ts';
import { DISK_RULES, format } from './rules/disk.ts';
import { readPath } from './rules/files.ts';
import { GIT_RULES } from './rules/git.ts';
import { INTERPRETER_RULES } from './rules/interpreters.ts';
import { namesMetadata } from './rules/metadata.ts';
import { NETWORK_RULES } from './rules/network.ts';
import { PACKAGE_RULES } from './rules/packages.ts';
import { PERMISSION_RULES } from './rules/permissions.ts';
import { initScript, PROCESS_RULES } from './rules/processes.ts';
import { runFile, SHELL_RULES } from './rules/shells.ts';
import { SQL_RULES } from './rules/sql.ts';
import { WRITE_RULES } from './rules/writes.ts';
import { INPUT_RULES } from './wrappers/input.ts';
import { PLAIN_WRAPPER_RULES } from './wrappers/plain.ts';
import { TEXT_RULES } from './wrappers/text.ts';
import { TOOL_RULES } from './wrappers/tools.ts';
import { USER_RULES } from './wrappers/users.ts';

const TABLES: RuleTable[] = [
  DELETE_RULES,
  DISK_RULES,
  SQL_RULES,
  WRITE_RULES,
  PERMISSION_RULES,
  PROCESS_RULES,
  NETWORK_RULES,
  GIT_RULES,
  PACKAGE_RULES,
  INTERPRETER_RULES,
  SHELL_RULES,
  PLAIN_WRAPPER_RULES,
  USER_RULES,
  INPUT_RULES,
  TEXT_RULES,
  TOOL_RULES,
];

/** The rule table: every rule by the program it is about. */
const RULES = new Map<string, Rule[]>();
for (const table of TABLES) {
  for (const [name, rule] of Object.entries(table)) RULES.set(name, [...(RULES.get(name) ?? []), rule]);
}
const GATED_NAMES = [...RULES.keys(), 'mkfs.ext4', 'python3', 'busybox'];
// A glob that fits more gated programs than this says nothing about which one is meant.
const MAX_CANDIDATES = 5;

/** Their arguments are text to show, search for or record, not places to read or connect to. */
const TEXT_PROGRAMS = new Set(
  'echo printf : true false test [ [[ expr git jq yq iptables ip6tables ip nft ufw route export local declare let alias type which man help logger notify-send say gh'.split(
    ' ',
  ),
);
const SEARCH_PROGRAMS = new Set('grep egrep fgrep zgrep rg ag ack sed gsed awk gawk mawk perl'.split(' '));
/** They look at a file's name or attributes, never at its content. */
const LOOKS_ONLY = new Set(
  'ls ll dir stat test [ file find du df tree realpath readlink basename dirname mkdir cd pushd chmod chown touch'.split(
    ' ',
  ),
);
const KEY_USERS = new Set('ssh scp sftp rsync ssh-add ssh-keygen ssh-copy-id mosh autossh'.split(' '));

const POWER_NAMES = new Set(['shutdown', 'reboot', 'halt', 'poweroff', 'init']);

/** Classifies the command and returns what it prints. `argv` is not empty. */
export function examineCommand(argv: string[], call: Omit<Call, 'name' | 'args'>): string {
  const { scope } = call.host;
  const [word = '', ...args] = argv;
  if (word.includes(REMOTE)) scope.report('execute remote script via substitution');
  if (word.includes(DECODED)) scope.report('pipe decoded content to shell');
  if (isHole(word)) {
    scope.report('command hidden behind expansion');
    // The unknown word may be empty or a wrapper such as `$SUDO`.
    return args.length > 0 ? call.host.run(args, call.input) : OPAQUE;
  }
  const base = word.slice(word.lastIndexOf('/') + 1);
  let output = '';
  for (const name of namesOf(word, base, call.host)) output += examineNamed(name, word, args, call);
  return output;
}

function namesOf(word: string, base: string, host: Call['host']): string[] {
  const { scope } = host;
  if (word.includes(LOOSE)) scope.report('command hidden behind expansion');
  if (!hasHole(base) && !hasGlob(base)) return [base.toLowerCase()];
  const pattern = base.replace(/\uE006+/g, STAR);
  // No file name is longer than 255 bytes; what is left then is all marks.
  const fits = pattern.length > 255 ? GATED_NAMES : GATED_NAMES.filter((name) => couldBe(pattern, name));
  if (fits.length > 0) scope.report('command hidden behind expansion');
  return [withoutHoles(base).toLowerCase(), ...(fits.length <= MAX_CANDIDATES ? fits : [])];
}

function examineNamed(
  name: string,
  word: string,
  args: string[],
  context: Omit<Call, 'name' | 'args'>,
): string {
  const call: Call = { ...context, name, args };
  const { host } = call;
  const known = isProjectScript(name, word, host.scope.cwd) ? '' : knownName(name);
  for (const rule of RULES.get(known) ?? []) {
    if (host.scope.never) return OPAQUE;
    rule({ ...call, name: known });
  }
  if (/^(?:mkfs|mke2fs|newfs)[._]/.test(name)) format(call);
  if (word.includes('/')) {
    const program = host.scope.programs.get(pathKey(word, host.scope.cwd));
    if (program !== undefined && program !== name && RULES.has(program))
      host.run([program, ...args], call.input);
    initScript(word, args, call);
    runFile(word, args, call);
  }
  examineArguments(name, args, call);
  return printed({ ...call, name: known });
}

/** `./shutdown` is a script of the project, unless the path leads into a directory of programs. */
function isProjectScript(name: string, word: string, cwd: string | undefined): boolean {
  if (!word.includes('/') || !POWER_NAMES.has(name)) return false;
  const { base, segments } = placeOf(word, cwd);
  return base === '' && !hasHole(word) && !/^s?bin$/.test(segments.at(-2) ?? '');
}

/** `python3.12` is python, `pip3` is pip. */
function knownName(name: string): string {
  if (RULES.has(name)) return name;
  const unversioned = name.replace(/-?\d[\d.]*$/, '').replace(/w?\.exe$/, '');
  return RULES.has(unversioned) ? unversioned : name;
}

/** Rules that concern any argument of any program. */
function examineArguments(name: string, args: string[], { host }: Call): void {
  if (TEXT_PROGRAMS.has(name)) return;
  const patternAt = SEARCH_PROGRAMS.has(name) ? args.findIndex((arg) => !arg.startsWith('-')) : -1;
  for (const [i, arg] of args.entries()) {
    if (i === patternAt || (SEARCH_PROGRAMS.has(name) && /^-[A-Za-z]*e$/.test(args[i - 1] ?? ''))) continue;
    if (patternAt < 0 && namesMetadata(arg)) host.scope.report('cloud metadata address');
    if (LOOKS_ONLY.has(name) || arg.length > 4_096) continue;
    if (KEY_USERS.has(name) && (args[i - 1] === '-i' || args[i - 1] === '-f' || /^-i./.test(arg))) continue;
    if (name === 'ssh-add' || name === 'ssh-copy-id') continue;
    if (/^--(?:kubeconfig|homedir)\b/.test(arg) || /^--(?:kubeconfig|homedir)$/.test(args[i - 1] ?? ''))
      continue;
    for (const path of pathsIn(arg)) readPath(path, host);
  }
}

/** The path an argument may hold: as it is, after `=`, after `@` (curl), after `host:`. */
function pathsIn(arg: string): string[] {
  if (/\s/.test(arg) || !/[./]/.test(arg)) return [];
  const inner = /^(?:[^=]{1,40}=|@|[^:/]{1,80}:|[^=]{1,40}=@|file:\/\/)(.+)$/.exec(arg)?.[1];
  const text = inner === undefined ? [arg] : [arg, inner];
  return text.map((path) =>
    path.startsWith('~/') ? HOME + path.slice(1) : path.startsWith(`${ENV}/`) ? path : path,
  );
}
