/** The tools of a slot, by the names under which every backend runs them. */
import { bash } from './bash.ts';
import { bashStateful } from './bash-stateful.ts';
import { InvalidArguments } from './check-arguments.ts';
import { readFile, writeFile } from './files.ts';
import { patch } from './patch.ts';
import { process } from './process.ts';
import { searchFiles } from './search-files.ts';
import { tmux } from './tmux.ts';

export const SANDBOX_TOOLS = {
  bash,
  bash_stateful: bashStateful,
  process,
  read_file: readFile,
  write_file: writeFile,
  patch,
  search_files: searchFiles,
  tmux,
} as const;

export type SandboxToolName = keyof typeof SANDBOX_TOOLS;
export type SandboxArguments<Name extends SandboxToolName> = ReturnType<
  (typeof SANDBOX_TOOLS)[Name]['check']
>;

/** A call with valid arguments. */
export interface CheckedCall<Name extends SandboxToolName = SandboxToolName> {
  tool: Name;
  args: SandboxArguments<Name>;
}

/** Throws `InvalidArguments`, also for an unknown tool. */
export function checkCall(tool: string, args: unknown): CheckedCall {
  if (isSandboxTool(tool)) return { tool, args: SANDBOX_TOOLS[tool].check(args) };
  throw new InvalidArguments(`Unknown tool ${tool}; there are ${Object.keys(SANDBOX_TOOLS).join(', ')}.`);
}

function isSandboxTool(tool: string): tool is SandboxToolName {
  return Object.hasOwn(SANDBOX_TOOLS, tool);
}
