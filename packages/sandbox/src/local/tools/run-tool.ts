/** Runs a checked call in a slot of this machine. */
import type { CheckedCall, SandboxToolName } from '../../tools/sandbox-tools.ts';
import { bash } from './bash.ts';
import { bashStateful } from './bash-stateful.ts';
import { patch } from './patch.ts';
import { process } from './process.ts';
import { readFile } from './read-file.ts';
import { searchFiles } from './search-files.ts';
import { tmux } from './tmux.ts';
import type { Run, ToolContext, ToolOutcome } from './tool.ts';
import { writeFile } from './write-file.ts';

const RUNS: { readonly [Name in SandboxToolName]: Run<Name> } = {
  bash,
  bash_stateful: bashStateful,
  process,
  read_file: readFile,
  write_file: writeFile,
  patch,
  search_files: searchFiles,
  tmux,
};

export function runTool<Name extends SandboxToolName>(
  { tool, args }: CheckedCall<Name>,
  context: ToolContext,
): Promise<ToolOutcome> {
  return RUNS[tool](args, context);
}
