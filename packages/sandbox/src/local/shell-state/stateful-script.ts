/**
 * The script of a stateful command: it restores the last state, runs the command, and writes the new state.
 *
 * A state is source text for the next shell: directory, umask, options of `shopt`, variables, functions, aliases. It is
 * written when the command returns, or by an EXIT trap when it calls `exit` or ends because of `set -e`. A command that
 * sets an EXIT trap replaces ours; its state is then written only if it returns. Options of `set` apply only to their
 * own call: a `set -e` that carried over would end a later call at its first failing command.
 *
 * A state is text that the sandbox wrote itself, evaluated in the same sandbox, in an `eval` of its own: if it was
 * tampered with, or does not parse, it harms nobody else, and the command still runs. `builtin` and the backslashes
 * bypass functions and aliases with the names that are used here; `cd` is a common one.
 */
import { quote, renderScript, type ShellKind } from '../isolation/shell.ts';
import { SAVE_IN_BASH, SAVE_IN_SH } from './save-commands.ts';

/** The last line of a state that was written to its end. */
export const STATE_END = '# the end of a shell state\n';

export interface StatefulCommand {
  shell: ShellKind;
  command: string;
  /** As commands see it. */
  workspaceDir: string;
  /** The state of the last command, as it was written. */
  state: Uint8Array | undefined;
  /** The file for the new state, as commands see it; without it nothing is saved. */
  saveTo: string | undefined;
  /** The directory in which the command starts, if not that of the state. */
  workdir: string | undefined;
  env: Readonly<Record<string, string>>;
}

export function renderStatefulScript(stateful: StatefulCommand): Buffer {
  const { shell, command, workspaceDir, saveTo } = stateful;
  const builtin = shell === 'bash' ? '\\builtin ' : '\\';
  const save = saveTo && renderSave(shell, builtin, quote(saveTo));
  return renderScript({
    workdir: workspaceDir,
    env: {},
    setup: renderSetup(stateful, builtin, save),
    command: save ? renderSaved(command, builtin, save) : command,
  });
}

function renderSetup(stateful: StatefulCommand, builtin: string, save: string | undefined): Buffer {
  const { shell, workspaceDir, state, workdir, env } = stateful;
  const say = (words: string) => `${builtin}printf '[%s]\\n' ${words}`;
  const parts: (string | Uint8Array)[] = [];
  if (state) {
    parts.push('__talaria_state=', quoteBytes(state), '\n');
    // With `command` a plain sh, too, continues after text that does not parse.
    parts.push(`command eval "$__talaria_state" 2>/dev/null || ${say(NOT_RESTORED)}\n`);
    if (!workdir) parts.push(`${builtin}test -z "$__talaria_gone" || ${say(goneWords(workspaceDir))}\n`);
    parts.push(`${builtin}unset __talaria_state __talaria_gone\n`);
  } else if (shell === 'sh' && save) {
    parts.push(`${say(NO_FUNCTIONS)}\n`);
  }
  for (const [name, value] of Object.entries(env)) parts.push(`${builtin}export ${name}=${quote(value)}\n`);
  if (workdir) parts.push(`${builtin}cd -- ${quote(workdir)} || ${builtin}exit 1\n`);
  if (save) parts.push(`${builtin}trap ${quote(save)} EXIT\n`);
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
}

/** The command is on the first line, so that line numbers in the shell's messages are right. */
function renderSaved(command: string, builtin: string, save: string): string {
  return [
    `${builtin}eval ${quote(command)}`,
    `{ __talaria_status=$?; ${builtin}set +xv; } 2>/dev/null`,
    save,
    `${builtin}exit "$__talaria_status"`,
  ].join('\n');
}

const NOT_RESTORED = quote('not all that the last stateful command left could be restored');
const NO_FUNCTIONS = quote('there is no bash here: functions do not carry over to the next stateful command');

function goneWords(workspaceDir: string): string {
  const here = quote(`, where the last stateful command ended, is gone; this one starts in ${workspaceDir}`);
  return `"$__talaria_gone"${here}`;
}

/** Once, though both the trap and the end of the command ask for it; it changes neither output nor exit code. */
function renderSave(shell: ShellKind, builtin: string, file: string): string {
  return [
    `{ ${builtin}set +xv; } 2>/dev/null`,
    `${builtin}test -s ${file} || (`,
    `${builtin}set +eu`,
    `__talaria_umask=$(${builtin}umask)`,
    `${builtin}umask 077`,
    '{',
    (shell === 'bash' ? SAVE_IN_BASH : SAVE_IN_SH).trim(),
    `${builtin}printf ':\\n%s' ${quote(STATE_END)}`,
    `} >|${file}`,
    `) 2>/dev/null || ${builtin}:`,
    '',
  ].join('\n');
}

/** Any bytes: values of variables need not be UTF-8. */
function quoteBytes(bytes: Uint8Array): Buffer {
  return Buffer.from(quote(Buffer.from(bytes).toString('latin1')), 'latin1');
}
