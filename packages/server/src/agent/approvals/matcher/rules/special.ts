/**
 * Programs whose arguments are a language of their own, by the name that their rows give. A rule that returns a string
 * has dealt with everything, and the string is what the program prints.
 */
import { ENV, HIDDEN, REMOTE } from '../walk/marks.ts';
import type { Given } from './arguments.ts';
import { judgeAwk } from './awk.ts';
import { alias, changeDirectory, declare, evaluates, printfInto, readInto, set, shift } from './builtins.ts';
import type { Call } from './call.ts';
import { find } from './find.ts';
import { configure, KINDS } from './kinds.ts';
import { kill, killByName } from './processes.ts';
import { rowOf } from './rows.ts';
import { judgeSed } from './sed.ts';
import { readPath, writePath } from './sensitive-paths.ts';
import { interpreter, shell } from './shells.ts';
import { assignVariable } from './variables.ts';
import { parallel, xargs } from './xargs.ts';

export const SPECIAL: Record<string, (call: Call, given: Given) => unknown> = {
  alias,
  cd: changeDirectory,
  declare,
  evaluates,
  find,
  interpreter,
  kill,
  parallel,
  pkill: killByName,
  printf: printfInto,
  read: readInto,
  set,
  shell,
  shift,
  xargs,
  /** `-S` splits a text into the words of a command. */
  env: ({ host, input }, { options, rest }) => {
    const split = options.find(({ option }) => option.value === 'split');
    if (split === undefined) return;
    return host.code([split.value, ...(rest?.words ?? [])].join(' '), 'argument', undefined, input);
  },
  flock: ({ host }, { rest }) => {
    const [option, code] = rest?.words ?? [];
    return option === '-c' ? host.code(code ?? '', 'argument') : undefined;
  },
  /** A shell of the administrator. */
  sudo: ({ host, input }, { rest }) => {
    const [name = '', ...args] = rest?.words ?? [];
    const isShell = /(?:^|\/)(?:\w*sh|su)$/.test(name) && args.every((arg) => /^-[li]?$/.test(arg));
    if (isShell && input === undefined) host.scope.report('sudo with stdin, askpass or shell flag');
  },
  /** A module is a program of its own. */
  python: (call, given) => {
    const module = given.options.find(({ option }) => option.value === 'pymodule')?.value;
    if (module === undefined) return interpreter(call, given);
    const args = given.rest?.words ?? [];
    const row = rowOf(`python -m ${module}`) ?? rowOf(module);
    return row === undefined ? ENV : call.host.run([row, ...args], call.input);
  },
  /** The script is the first operand unless options give it; with `-i` the operands are written. */
  sed: ({ host, input }, { options, operands }) => {
    const scripts = options.flatMap(({ name, value }) =>
      /^(?:-e|--expression)$/.test(name) ? [value ?? ''] : [],
    );
    const files = options.flatMap(({ name, value }) => (/^(?:-f|--file)$/.test(name) ? [value ?? ''] : []));
    if (files.some((file) => /^(?:-|\/dev\/)/.test(file) || host.read(file) !== undefined)) {
      host.scope.report('interpreter with inline code');
    }
    const given = scripts.length > 0 || files.length > 0;
    for (const script of given ? scripts : operands.slice(0, 1)) {
      if (script.includes(HIDDEN)) host.scope.report('command hidden behind expansion');
      judgeSed(script, host, input?.text);
    }
    const inPlace = options.some(({ name }) => /^(?:-i|--in-place|-I)$/.test(name));
    for (const file of operands.slice(given ? 0 : 1)) (inPlace ? writePath : readPath)(file, host);
  },
  awk: ({ host }, { options, operands }) => {
    const files = options.filter(({ name }) => /^(?:-f|--file|-i|--include|-E|--exec)$/.test(name));
    const [code, ...data] = operands;
    for (const { name, value = '' } of files) {
      if (name === '-i' && value === 'inplace') continue;
      if (/^(?:-|\/dev\/)/.test(value) || host.read(value) !== undefined)
        host.scope.report('interpreter with inline code');
    }
    const scripted = files.some(({ name }) => /^(?:-f|--file|-E|--exec)$/.test(name));
    if (!scripted && code !== undefined) {
      if (code.includes(HIDDEN)) host.scope.report('command hidden behind expansion');
      judgeAwk(code, host);
    }
    const inPlace = files.some(({ value }) => value === 'inplace');
    for (const file of data) (inPlace ? writePath : readPath)(file, host);
  },
  /** `tar xzf a.tgz`: the first word may be options without a dash. */
  tar: (call, { operands }) => {
    const [first = ''] = call.args;
    if (!/^[a-zA-Z]+$/.test(first) || operands[0] !== first) return;
    // Each letter with a value takes the next word in turn.
    const words = call.args.slice(1);
    const args = [...first].flatMap((letter) =>
      /[fCTXbHgVNIK]/.test(letter) ? [`-${letter}`, words.shift() ?? ''] : [`-${letter}`],
    );
    return call.host.run(['tar', ...args, ...words], call.input);
  },
  /** Variables of make decide what its rules run. */
  make: ({ host, input }, { operands, options }) => {
    for (const operand of operands) {
      const [, name, value = ''] = /^([\w.]+)[:+?]?=(.*)$/s.exec(operand) ?? [];
      if (name !== undefined) assignVariable(name, value, host);
      if (name === 'SHELL' || name === '.SHELLFLAGS' || /\$\(shell|\$\{shell|`/.test(value)) {
        host.scope.report('program or code as an argument');
      }
    }
    for (const { name, value = '' } of options) {
      if (!/^(?:-f|--file|--makefile)$/.test(name)) continue;
      if (/^(?:-|\/dev\/)/.test(value) || (host.read(value) ?? '').includes(REMOTE)) {
        if (input) host.code(input.text.replace(/^[^\n;]*:[^\n;]*;?/gm, ''), input.via);
        host.scope.report('program or code as an argument');
      }
    }
  },
  /** `git config key value`, and reading one. */
  gitconfig: ({ host }, { operands }) => {
    const [key = '', value] = operands;
    if (value === undefined) return;
    if (key.startsWith('alias.') && !value.startsWith('!')) return;
    if (key.startsWith('alias.')) {
      host.code(value.slice(1), 'argument');
      host.scope.report('program or code as an argument');
      return;
    }
    configure(key, value, host);
  },
  /** `command -v name` looks a program up; without it the words are run. */
  command: ({ host, input, args }, { options, rest }) => {
    const words = rest?.words ?? [];
    if (options.some(({ name }) => /^-[vV]$/.test(name))) return `${words.join('\n')}\n`;
    return args.length === 0 ? '' : host.run(words, input);
  },
  /** `eval` joins its words and reads them once more. */
  eval: ({ host, input }, { rest }) => host.code((rest?.words ?? []).join(' '), 'argument', undefined, input),
  exec: ({ host, input }, { rest }) => (rest ? host.run(rest.words, input) : ''),
  /** The first word of trap is code. */
  trap: ({ host }, { operands }) => {
    const [code = ''] = operands;
    if (operands.length > 1 && !/^(?:-|)$/.test(code)) host.code(code, 'argument');
  },
  /** SQL that comes through the pipe or a here-document. */
  sql: (call) => {
    if (call.input) KINDS.sql!(call.input.text, call);
  },
  /** A list of jobs through standard input replaces the schedule. */
  crontab: ({ host, input }, { options, operands }) => {
    if (options.some(({ name }) => name === '-l')) return;
    host.scope.report('overwrite system config');
    if (operands[0] === '-' || input) {
      for (const [, job = ''] of (input?.text ?? '').matchAll(
        /^[ \t]*(?:@\w+|(?:[^\s#]+[ \t]+){5})(\S[^\n]*)/gm,
      )) {
        host.code(job, 'file');
      }
    }
  },
  /** Commands for later. */
  at: ({ host, input }, { options }) => {
    if (options.some(({ name }) => /^-[lrdcq]$/.test(name)) && !input) return;
    if (input) host.code(input.text, input.via);
    host.scope.report('program or code as an argument');
  },
  /** Records the file as downloaded, in case a later command runs it. */
  download: ({ host }, { options, operands }) => {
    const named = options.flatMap(({ name, value }) =>
      /^(?:-o|-O|--output|--output-document|--out)$/.test(name) && value ? [value] : [],
    );
    const byUrl = options.some(
      ({ name, value }) => /^(?:-O|--remote-name|--remote-name-all)$/.test(name) && !value,
    );
    const folder = options.find(({ name }) =>
      /^(?:-P|--directory-prefix|-d|--dir|--output-dir)$/.test(name),
    )?.value;
    const paths = named.length > 0 ? named : byUrl ? operands.map(fileOfUrl) : [];
    for (const path of paths.filter((each) => each !== '-')) {
      const place = folder === undefined ? path : `${folder}/${path}`;
      writePath(place, host);
      host.write(place, REMOTE);
    }
  },
  /** wget writes a file unless it is told where else. */
  wget: (call, given) => {
    SPECIAL.download!(call, given);
    if (given.options.some(({ name }) => /^(?:-O|--output-document)$/.test(name))) return;
    for (const url of given.operands) call.host.write(fileOfUrl(url), REMOTE);
  },
  /** tee writes its input to the files that it names. */
  tee: ({ host, input }, { operands }) => {
    for (const path of operands) host.write(path, input?.text ?? ENV);
  },
  /** A copy of a file that this line wrote counts as written by this line, too. */
  copy: ({ host }, { operands }) => {
    const [from, to] = operands;
    const content = from !== undefined ? host.read(from) : undefined;
    if (content !== undefined && to !== undefined) host.write(to, content);
  },
};

function fileOfUrl(url: string): string {
  return (
    url
      .replace(/[?#].*$/s, '')
      .split('/')
      .at(-1) || 'index.html'
  );
}
