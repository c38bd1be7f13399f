/** Clones a repository with a command of the run's own sandbox: it reaches what commands of the run reach, and no more. */
import type { WorkspaceGit } from '@talaria/protocol';
import type { ExecutionResult } from '@talaria/sandbox';
import { cloneCommand } from './clone-command.ts';

/** A large repository takes a while; the run's own time limit holds as well. */
const CLONE_TIMEOUT_S = 600;
const SHOWN_MAX = 1000;

/** The message is for the client. */
export class CloneError extends Error {
  override readonly name = 'CloneError';
}

/** Runs a shell command in the workspace. */
export type RunCommand = (
  command: string,
  env: Record<string, string>,
  options: { timeoutS: number; signal: AbortSignal },
) => Promise<ExecutionResult>;

export async function clone(git: WorkspaceGit, run: RunCommand, signal: AbortSignal): Promise<void> {
  const { command, env, secrets } = cloneCommand(git);
  const result = await run(command, env, { timeoutS: CLONE_TIMEOUT_S, signal });
  if (result.success) return;
  const { failure, exit_code: code } = result.metadata;
  const shown = (text: string) => withoutSecrets(text, secrets).trim().slice(-SHOWN_MAX);
  if (failure !== undefined) throw new CloneError(shown(result.error) || `git did not finish: ${failure}`);
  throw new CloneError(shown(result.output) || `git failed with the exit code ${code}`);
}

/** The longest first: one may be a part of another. */
function withoutSecrets(text: string, secrets: readonly string[]): string {
  const longestFirst = [...secrets].sort((one, other) => other.length - one.length);
  return longestFirst.reduce((rest, secret) => rest.replaceAll(secret, '***'), text);
}
