/**
 * `talaria artifacts cat`: a file, byte for byte; on a terminal as text without escape sequences.
 */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { connect } from '../client/connect.ts';
import { findRun } from '../client/find-run.ts';
import type { Arguments } from '../commands.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Terminal } from '../terminal.ts';
import { safeText } from '../text/safe-text.ts';

export async function printArtifact(args: Arguments<'artifactsCat'>, terminal: Terminal): Promise<number> {
  const client = connect(args, terminal);
  const runId = await findRun(client, args.run);
  const { body } = await client.runs.artifacts.read(runId, args.path);
  await printBody(body!, terminal);
  return exitCodes.ok;
}

export async function printBody(body: ReadableStream<Uint8Array>, { stdout }: Terminal): Promise<void> {
  if (stdout.isTerminal) {
    for await (const text of body.pipeThrough(new TextDecoderStream())) stdout.write(safeText(text));
    return;
  }
  try {
    await pipeline(Readable.fromWeb(body), stdout.stream, { end: false, signal: stdout.closed });
  } catch (error) {
    // The reader of the output has read enough.
    if (!stdout.closed.aborted) throw error;
  }
}
