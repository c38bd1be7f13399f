/** What a person is told about the files of a run when it has ended. Loaded only then. */
import type { Talaria } from '@talaria/client';
import type { Terminal } from '../terminal.ts';
import type { ShownChanges } from '../workspace/show-changes.ts';

export function changesOf(
  client: Talaria,
  options: Pick<ShownChanges, 'directory' | 'server'>,
  terminal: Terminal,
): (runId: string) => Promise<string[]> {
  const { style } = terminal.stdout.isTerminal ? terminal.stdout : terminal.stderr;
  return async (runId) => {
    const { changeLines } = await import('../workspace/show-changes.ts');
    return changeLines(runId, { client, style, ...options });
  };
}
