/**
 * Interpreters that run code given on the command line or on standard input. The code is in a language
 * the matcher does not read, so it always asks; strings in it that go to a shell are looked at only to
 * find what must never run.
 */
import { NEVER } from '../families.ts';
import type { Call, RuleTable } from '../host.ts';
import { REMOTE } from '../marks.ts';

interface Interpreter {
  /** options that take code */
  code: RegExp;
  /** options that take another value, to find the script operand */
  values?: RegExp;
  /** options after which the program does not read code from standard input */
  otherwise?: RegExp;
}

const INTERPRETERS: Record<string, Interpreter> = {
  python: { code: /^-[A-Za-z]*c/, values: /^-[WXQ]$/, otherwise: /^(?:-m.*|-V|--version|-h|--help)$/ },
  pypy: { code: /^-[A-Za-z]*c/, values: /^-[WXQ]$/, otherwise: /^(?:-m.*|-V|--version|-h)$/ },
  perl: { code: /^-[A-Za-z0-9.]*[eE]/, values: /^-[ImM]$/, otherwise: /^(?:-v|-V.*|--version|--help)$/ },
  ruby: { code: /^-[A-Za-z]*e/, values: /^-[rICE]$/, otherwise: /^(?:-v|--version|--help)$/ },
  node: {
    code: /^(?:-[a-z]*[ep][a-z]*|--eval(?:=.*)?|--print(?:=.*)?)$/,
    values: /^(?:-r|--require|--import|--loader|-C)$/,
    otherwise: /^(?:-v|--version|-h|--help|--test.*|--run.*|--check|-c)$/,
  },
  deno: { code: /^eval$/, otherwise: /^(?!-$).*/ },
  bun: { code: /^(?:-e|--eval|-p|--print|eval)$/, otherwise: /^(?!-$).*/ },
  tsx: { code: /^(?:-e|--eval|-p|--print)$/ },
  php: { code: /^-(?:r|B|R|E)/, values: /^-[cdz]$/, otherwise: /^(?:-v|-i|-m|-S|--version|--ini)$/ },
  lua: { code: /^-e/, values: /^-l$/, otherwise: /^-v$/ },
  luajit: { code: /^-e/, values: /^-l$/, otherwise: /^-v$/ },
  rscript: { code: /^-e$/, otherwise: /^--version$/ },
  r: { code: /^-e$/, otherwise: /^(?:CMD|--version|--help)$/ },
  julia: { code: /^(?:-[eE]|--eval|--print)/, otherwise: /^(?:-v|--version)$/ },
  osascript: { code: /^-e$/ },
  groovy: { code: /^-e/ },
  scala: { code: /^-e$/, otherwise: /^-version$/ },
  elixir: { code: /^(?:-e|--eval|--rpc-eval)$/, otherwise: /^(?:-v|--version)$/ },
  erl: { code: /^-eval$/, otherwise: /^-version$/ },
  ghc: { code: /^-e/, otherwise: /.*/ },
  guile: { code: /^-c/ },
  racket: { code: /^-[a-z]*e/ },
  sbcl: { code: /^--eval$/, otherwise: /^--version$/ },
  clojure: { code: /^-e$/ },
  tclsh: { code: /^$/ },
  expect: { code: /^-c/ },
  pwsh: { code: /^-(?:c|command|e|ec|encodedcommand|enc)$/i, otherwise: /^-(?:v|version|help)$/i },
  powershell: { code: /^-(?:c|command|e|ec|encodedcommand|enc)$/i },
  emacs: { code: /^--?(?:eval|execute)/, otherwise: /.*/ },
  gdb: { code: /^(?:-ex|--eval-command.*|-eval-command)$/, otherwise: /.*/ },
};

export const INTERPRETER_RULES: RuleTable = {
  ...Object.fromEntries(
    Object.entries(INTERPRETERS).map(([name, interpreter]) => [
      name,
      (call: Call) => inline(call, interpreter),
    ]),
  ),
  awk,
  gawk: awk,
  mawk: awk,
  nawk: awk,
  sed: sedRuns,
  gsed: sedRuns,
  make,
  gmake: make,
  vim: editorRuns,
  nvim: editorRuns,
  vi: editorRuns,
  ex: editorRuns,
  ed: editorRuns,
};

function inline(call: Call, { code, values, otherwise }: Interpreter): void {
  const { args, input, host } = call;
  let script: string | undefined;
  let readsInput = true;
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!;
    if (code.test(arg)) {
      host.scope.report('interpreter with inline code');
      if (args.some((text) => text.includes(REMOTE)))
        host.scope.report('execute remote script via substitution');
      for (const text of args.slice(i, i + 2)) examineCode(text, call);
      return;
    }
    if (otherwise?.test(arg)) readsInput = false;
    if (/^py/.test(call.name) && /^-[A-Za-z]*m/.test(arg)) {
      const attached = arg.slice(arg.indexOf('m') + 1);
      host.run(attached ? [attached, ...args.slice(i + 1)] : args.slice(i + 1), input);
      return;
    }
    if (arg === '-' || !arg.startsWith('-')) {
      script = arg;
      break;
    }
    if (values?.test(arg)) i++;
  }
  const fromInput =
    script === undefined || script === '-' || script === '/dev/stdin' || script === '/dev/fd/0';
  const text = fromInput ? (readsInput ? input?.text : undefined) : host.read(script!);
  if (text === undefined || (fromInput && input?.via === 'file')) return;
  const substituted = script?.startsWith('/dev/fd/') ?? false;
  if (text.includes(REMOTE)) {
    host.scope.report(
      substituted ? 'execute remote script via substitution' : 'pipe remote content to shell',
    );
  } else if (fromInput || substituted) {
    host.scope.report('interpreter with inline code');
  }
  if (fromInput || substituted) examineCode(text, call);
}

const STARTS_PROGRAMS = /system|exec|popen|spawn|subprocess|qx|`|shell/i;
const STRING = /"((?:[^"\\\n]|\\.){0,2000})"|'((?:[^'\\\n]|\\.){0,2000})'|`([^`\n]{0,2000})`/g;
const MAX_STRINGS = 200;

/** Strings that the code may hand to a shell can only raise the verdict. */
export function examineCode(code: string, { host }: Call): void {
  if (
    /\bfork\b[\s()]*(?:while|until|;|&&)|\b(?:while|for|loop)\b[^\n]{0,80}\bfork\b/.test(code) &&
    !/wait/.test(code)
  ) {
    host.scope.never = NEVER.bomb;
  }
  if (!STARTS_PROGRAMS.test(code)) return;
  let count = 0;
  for (const match of code.matchAll(STRING)) {
    const text = match[1] ?? match[2] ?? match[3] ?? '';
    if (/\s/.test(text) && count++ < MAX_STRINGS) host.code(text, 'file');
  }
}

/** awk is harmless text processing until its program starts another. */
function awk(call: Call): void {
  const { args, host } = call;
  for (const arg of args) {
    if (!/\bsystem\s*\(|\|[ \t&]*(?:"|getline)|"[ \t]*\|/.test(arg)) continue;
    host.scope.report('interpreter with inline code');
    for (const match of arg.matchAll(/"((?:[^"\\\n]|\\.){2,2000})"/g)) host.code(match[1]!, 'file');
  }
}

/** GNU sed runs its pattern space with the `e` command or flag. */
function sedRuns({ args, host }: Call): void {
  for (const arg of args) {
    const command = /^(?:\d+|\$|\/[^/]*\/)?\s*e\s+(\S.*)$/s.exec(arg);
    if (command) host.code(command[1]!, 'argument');
    if (command || substitutesAndRuns(arg)) host.scope.report('interpreter with inline code');
  }
}

/** `s/…/…/e` with any delimiter. */
function substitutesAndRuns(script: string): boolean {
  const start = /^(?:\d+|\$|\/[^/]*\/)?\s*s/.exec(script)?.[0].length;
  const delimiter = start === undefined ? undefined : script[start];
  if (start === undefined || delimiter === undefined) return false;
  let at = start + 1;
  for (let parts = 0; parts < 2; parts++, at++) {
    while (at < script.length && script[at] !== delimiter) at += script[at] === '\\' ? 2 : 1;
  }
  return /^[a-zA-Z0-9]*e/.test(script.slice(at, at + 20));
}

/** A makefile from standard input, a substitution or an argument is code on the command line. */
function make(call: Call): void {
  const { args, host, input } = call;
  for (const [i, arg] of args.entries()) {
    const file =
      /^(?:-f|--file=|--makefile=)(.+)$/.exec(arg)?.[1] ??
      (/^(?:-f|--file|--makefile)$/.test(arg) ? args[i + 1] : undefined);
    const text =
      file === '-' || file === '/dev/stdin'
        ? input?.text
        : file?.startsWith('/dev/fd/')
          ? host.read(file)
          : undefined;
    if (text !== undefined || /^(?:--eval|-E)/.test(arg)) host.scope.report('interpreter with inline code');
    for (const recipe of (text ?? '').matchAll(/(?:^\t|;)[@+-]*([^\n]{1,2000})/gm))
      host.code(recipe[1]!, 'file');
  }
}

function editorRuns({ args, input, host }: Call): void {
  for (const line of (input?.text ?? '').matchAll(/^[ \t]*(?:[rw][ \t]*)?!([^\n]*)/gm)) {
    host.scope.report('interpreter with inline code');
    host.code(line[1]!, 'file');
  }
  for (const arg of args) {
    const command = /^(?:\+|-c|--cmd=?)?:?(?:!|silent !|r !|w !)(.*)$/s.exec(arg);
    if (!command) continue;
    host.scope.report('interpreter with inline code');
    host.code(command[1]!, 'argument');
  }
}
