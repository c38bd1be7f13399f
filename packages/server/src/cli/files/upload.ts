/** Uploads what is read from a source, with a progress bar where there is a terminal. */
import type { StoredFile, Talaria } from '@talaria/client';
import { LiveScreen } from '../screen/live-screen.ts';
import { ProgressBar } from '../screen/progress-bar.ts';
import type { Terminal } from '../terminal.ts';
import { safeLine } from '../text/safe-text.ts';

export interface Upload {
  readonly filename: string;
  readonly purpose: string | undefined;
  /** In bytes, for the progress bar; unknown for a pipe. */
  readonly size: number | undefined;
  readonly signal: AbortSignal;
  read(onBytes: (count: number) => void): AsyncIterable<Uint8Array>;
}

/** Rejects with the problem of the source, if it has one. */
export async function upload(
  client: Talaria,
  { filename, purpose, size, signal, read }: Upload,
  { stderr }: Terminal,
): Promise<StoredFile> {
  const bar = new ProgressBar(safeLine(filename), size, 0);
  using screen = stderr.canRedraw ? new LiveScreen(stderr) : undefined;
  screen?.setFooter((columns) => [bar.row(columns, stderr.style)]);
  let problem: unknown;
  const source = async function* (): AsyncGenerator<Uint8Array, void> {
    try {
      yield* read((count) => bar.add(count));
    } catch (error) {
      // The client would report a failed connection.
      problem = error;
      throw error;
    }
  };
  try {
    return await client.files.create({ file: source(), filename, purpose }, { signal });
  } catch (error) {
    throw problem ?? error;
  }
}
