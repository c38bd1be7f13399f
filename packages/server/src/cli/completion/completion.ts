/**
 * `talaria completion`: the script that makes a shell ask this command for completions. The scripts contain no data, so
 * they are never outdated.
 */
import type { Arguments } from '../commands.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Terminal } from '../terminal.ts';

const BASH = `# bash completion for talaria
_talaria() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      compopt -o default
      return
    fi
    COMPREPLY+=("\${line%%$'\\t'*}")
  done < <(talaria __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _talaria talaria
`;

const ZSH = `#compdef talaria
# zsh completion for talaria
_talaria() {
  local line
  local -a candidates
  for line in "\${(@f)$(talaria __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    if [[ $line == :files ]]; then
      _files
      return
    fi
    [[ -n $line ]] && candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${\${line#*$'\\t'}//\${line}/}")
  done
  _describe talaria candidates
}
if [[ \${funcstack[1]} == _talaria ]]; then
  _talaria "$@"
else
  compdef _talaria talaria
fi
`;

const FISH = `# fish completion for talaria
function __talaria_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in (talaria __complete $words[2..-1] 2>/dev/null)
        if test "$line" = :files
            __fish_complete_path (commandline -ct)
        else
            echo $line
        end
    end
end
complete -c talaria -f -a '(__talaria_complete)'
`;

export async function printCompletion(args: Arguments<'completion'>, terminal: Terminal): Promise<number> {
  terminal.stdout.write({ bash: BASH, zsh: ZSH, fish: FISH }[args.shell]);
  return exitCodes.ok;
}
