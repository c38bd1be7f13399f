/**
 * How a shell writes its own state, as source text for the next one. Both run in a subshell whose output is the state,
 * under whatever options and IFS the command left, with its umask in `__talaria_umask`.
 *
 * The marker belongs to each command: if it carried over, the processes of the next command would not be found when
 * they have to be ended.
 */
import { MARKER_VARIABLE } from '../process/terminate.ts';

/** Names that bash sets by itself, or that are ours. BASH_ENV is the one of its family that people set. */
const NOT_SAVED = [
  ...[
    '__talaria_*',
    MARKER_VARIABLE,
    '_',
    'BASH',
    'BASHOPTS',
    'BASHPID',
    'BASH_[!E]*',
    'BASH_EX*',
    'COMP_*',
    'COPROC*',
    'DIRSTACK',
  ],
  ...[
    'EPOCH*',
    'EUID',
    'FUNCNAME',
    'GROUPS',
    'HISTCMD',
    'HOSTTYPE',
    'LINENO',
    'MACHTYPE',
    'OPTARG',
    'OPTERR',
  ],
  ...[
    'OPTIND',
    'OSTYPE',
    'PIPESTATUS',
    'PPID',
    'PWD',
    'RANDOM',
    'READLINE_*',
    'SECONDS',
    'SHELLOPTS',
    'SHLVL',
  ],
  ...['SRANDOM', 'UID'],
].join('|');

/**
 * Functions come after the options that are needed to parse them (extglob), and before aliases, which would be expanded
 * in them. Bash does not write every function name in a form that it can read again: if the whole does not parse, those
 * that do are taken one by one.
 */
export const SAVE_IN_BASH = String.raw`
\builtin printf '\\builtin cd -- %q || __talaria_gone=%q\n' "$PWD" "$PWD"
\builtin printf 'umask %s\n' "$__talaria_umask"
\builtin shopt -p
\builtin shopt -u nocasematch
\builtin compgen -v | while IFS= \builtin read -r __talaria_name; do
  case $__talaria_name in ${NOT_SAVED}) ;; *) \builtin declare -p -- "$__talaria_name" ;; esac
done
__talaria_parses() { (\builtin eval "$1"$'\n__talaria_parsed=yes'; [[ $__talaria_parsed == yes ]]) >/dev/null; }
__talaria_text=$(\builtin unset -f __talaria_parses; \builtin declare -pf)
if __talaria_parses "$__talaria_text"; then
  \builtin printf '%s\n' "$__talaria_text"
else
  \builtin compgen -A function -X __talaria_parses | while IFS= \builtin read -r __talaria_name; do
    __talaria_text=$(\builtin declare -pf -- "$__talaria_name")
    if __talaria_parses "$__talaria_text"; then \builtin printf '%s\n' "$__talaria_text"; fi
  done
fi
\builtin alias -p
`;

/** A plain sh can name its exported variables and nothing else. */
export const SAVE_IN_SH = String.raw`
__talaria_quoted=$(printf %s "$PWD" | sed "s/'/'\\\\''/g")
printf "cd -- '%s' || __talaria_gone='%s'\n" "$__talaria_quoted" "$__talaria_quoted"
printf 'umask %s\n' "$__talaria_umask"
unset ${MARKER_VARIABLE}
export -p
`;
