/**
 * Text that reaches a shell or an interpreter: as an argument, through standard input, or as a file.
 * Scripts of the workspace run unasked, except for what this very command line wrote into them.
 */
import { DECODED, ENV, HIDDEN, isHole, REMOTE, SETUP } from '../walk/marks.ts';
import type { Input, Scope } from '../walk/scope.ts';
import type { Given } from './arguments.ts';
import type { Call, CodeOrigin } from './call.ts';

/** Reports where source text comes from; returns the part that can be read, or undefined. */
export function visibleCode(text: string, origin: CodeOrigin, scope: Scope): string | undefined {
  const substituted = origin === 'argument' || origin === 'process';
  if (text.includes(REMOTE)) {
    scope.report(substituted ? 'execute remote script via substitution' : 'pipe remote content to shell');
  }
  if (text.includes(DECODED)) scope.report('pipe decoded content to shell');
  if (origin === 'heredoc') scope.report('heredoc to a shell');
  const told = text.includes(REMOTE) || text.includes(DECODED);
  if (origin === 'pipe' && !told) scope.report('script piped to a shell');
  if (text.includes(HIDDEN)) scope.report('command hidden behind expansion');
  if (text.trim() === SETUP || text.trim() === '') return undefined;
  if (isHole(text)) {
    if (!told && substituted) scope.report('text evaluated again');
    // This line wrote the file, so nobody has reviewed it.
    if (!told && origin === 'file') scope.report('script piped to a shell');
    return undefined;
  }
  return text.replace(/[\uE002-\uE004]/g, ENV);
}

/** `sh`, `bash`, …: the rest of the options has been read. */
export function shell(call: Call, { options, rest }: Given): string | undefined {
  const { host } = call;
  // `-n` reads the script and runs nothing of it.
  if (options.every(({ name }) => name === '-n') && options.length > 0) return '';
  if (options.some(({ name }) => name === '-c')) {
    const [code = '', zero, ...positional] = rest?.words ?? [];
    const { scope } = host;
    const before = [scope.posix, scope.zero] as const;
    scope.posix = call.name !== 'bash';
    scope.zero = zero;
    const output = host.code(code, 'argument', positional, call.input);
    [scope.posix, scope.zero] = before;
    return output;
  }
  if (rest && !options.some(({ name }) => name === '-s'))
    return runScript(call, rest.words[0]!, rest.words.slice(1));
  return shellInput(call);
}

/** A shell that reads its standard input. */
export function shellInput({ host, input }: Call): string {
  // A file of the workspace is a script of it.
  if (input === undefined || (input.via === 'file' && input.text === ENV)) return ENV;
  return host.code(input.text, input.via);
}

/** An interpreter without a script reads code from its standard input. */
export function interpreter({ host, input }: Call, { rest, options }: Given): string | undefined {
  if (rest && rest.words[0] !== '-') return undefined;
  if (options.some(({ name }) => /^(?:-m|-V|--version|-v|--test|-l|--list)$/.test(name))) return undefined;
  interpreted(input, host.scope);
  return ENV;
}

function interpreted(input: Input | undefined, scope: Scope): void {
  if (input === undefined || (input.via === 'file' && input.text === ENV)) return;
  if (input.text.includes(REMOTE)) scope.report('pipe remote content to shell');
  else if (input.text.includes(DECODED)) scope.report('pipe decoded content to shell');
  else scope.report('interpreter with inline code');
}

const SHELLS = /^(?:sh|bash|dash|zsh|ksh|mksh|ash|fish|source|\.|rbash)$/;
const STDIN = /^(?:-|\/dev\/stdin|\/dev\/fd\/0|\/proc\/self\/fd\/0)$/;

/** A file that is run: by a shell, by an interpreter, or by its own name. */
export function runScript(call: Call, path: string, args: string[]): string {
  const { host, name } = call;
  const inShell = SHELLS.test(name) || name === path.split('/').at(-1);
  if (STDIN.test(path)) {
    if (inShell) return shellInput(call);
    interpreted(call.input, host.scope);
    return ENV;
  }
  if (path.startsWith(HIDDEN) || path.startsWith(REMOTE))
    host.scope.report('command hidden behind expansion');
  if (/^https?:/.test(path)) host.scope.report('execute remote script via substitution');
  const written = host.read(path);
  if (written === undefined) {
    if (/^\/dev\/|^\/proc\//.test(path)) host.scope.report('command hidden behind expansion');
    return ENV;
  }
  const fromProcess = path.startsWith('/dev/fd/p');
  if (inShell) return host.code(written, fromProcess ? 'process' : 'file', args, call.input);
  if (written.includes(REMOTE)) {
    host.scope.report(
      fromProcess ? 'execute remote script via substitution' : 'pipe remote content to shell',
    );
  } else if (written.includes(DECODED) || written.includes(HIDDEN)) {
    host.scope.report('pipe decoded content to shell');
  } else if (fromProcess) {
    host.scope.report('interpreter with inline code');
  }
  return ENV;
}
