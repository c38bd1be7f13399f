/** Calls a tool of the sandbox for a run and turns the result into text for the model. */
import type { ExecutionResult, ToolExecutor } from '@talaria/sandbox';
import type { ToolOutcome } from './tool.ts';

const FILES_KEPT = 'The files in the workspace are kept';
const FILES_REVERTED =
  'The files in the workspace are those from when the sandbox was opened, and what was changed since then is lost';

const replaced = (files: string) =>
  'The sandbox of this run was lost while it had this call, and is replaced with the next one. ' +
  `${files}; processes are gone, and so may be what stateful commands had left. The call may have run completely, partly ` +
  'or not at all: check the state before you repeat it.';

export type SandboxCall = (
  tool: string,
  args: Record<string, unknown>,
  signal: AbortSignal,
  timeoutS?: number,
) => Promise<ToolOutcome>;

export interface SandboxCallOptions {
  /** What has to be done before a call can have an effect. */
  before?(): Promise<void>;
  /** The files are in the sandbox while the run works, and are lost with it. */
  filesTravel?: boolean;
}

export function createSandboxCall(
  executor: ToolExecutor,
  runId: string,
  { before, filesTravel = false }: SandboxCallOptions = {},
): SandboxCall {
  return async (tool, args, signal, timeoutS) => {
    await before?.();
    return toOutcome(await executor.execute(runId, tool, args, { signal, timeoutS }), filesTravel);
  };
}

function toOutcome(result: ExecutionResult, filesTravel: boolean): ToolOutcome {
  const { exit_code: exitCode, failure } = result.metadata;
  const parts = [result.output];
  if (result.error !== '') parts.push(result.error);
  else if (exitCode !== undefined && exitCode !== 0) parts.push(`[exit code ${exitCode}]`);
  if (failure === 'gone') parts.push(replaced(filesTravel ? FILES_REVERTED : FILES_KEPT));
  parts.push(wayToTheRest(result));
  return { output: parts.filter((part) => part !== '').join('\n'), isError: !result.success, exitCode };
}

function wayToTheRest({ metadata }: ExecutionResult): string {
  const { full_output_path: path, total_bytes: bytes } = metadata;
  if (path === undefined) return '';
  const call = JSON.stringify({ path, offset: 1, limit: 500 });
  return `[The output of ${bytes} bytes is shown by its start and its end. Read the rest with read_file ${call}, or look for something in it with search_files.]`;
}
