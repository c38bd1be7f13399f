/** `talaria diff`: what a run changed in its files, as a unified diff or a list. */
import type { DiffQuery, RunDiff, Talaria } from '@talaria/client';
import { printBody } from '../../artifacts/cat.ts';
import { connect } from '../../client/connect.ts';
import { findRun } from '../../client/find-run.ts';
import type { Arguments } from '../../commands.ts';
import { exitCodes } from '../../exit-codes.ts';
import type { Terminal } from '../../terminal.ts';
import { safeJson } from '../../text/safe-text.ts';
import { statLines } from './diff-stat.ts';
import { PatchPainter } from './paint-patch.ts';
import { orUnsupported } from './unsupported.ts';

export async function showDiff(args: Arguments<'diff'>, terminal: Terminal): Promise<number> {
  const client = connect(args, terminal);
  const runId = await findRun(client, args.run);
  const { from, to } = args;
  const queries = (args.path.length === 0 ? [undefined] : args.path).map((path) => ({ from, to, path }));
  try {
    if (args.json || args.stat) {
      const diff = await list(client, runId, queries);
      terminal.out(args.json ? safeJson(diff, 2) : statLines(diff, terminal.stdout.style).join('\n'));
    } else {
      for (const query of queries) {
        const { body, headers } = await client.runs.patch(runId, query);
        if (body !== null) await (terminal.stdout.isTerminal ? paint : printBody)(body, terminal);
        const leftOut = headers.get('x-talaria-left-out');
        if (leftOut !== null) {
          terminal.err(`${leftOut} changed files are not shown: name a directory`);
        }
      }
    }
  } catch (error) {
    throw orUnsupported(error);
  }
  return exitCodes.ok;
}

/** The answer of the server; for several paths, all of them in one. */
async function list(client: Talaria, runId: string, queries: readonly DiffQuery[]): Promise<RunDiff> {
  const diffs: RunDiff[] = [];
  for (const query of queries) diffs.push(await client.runs.diff(runId, query));
  if (diffs.length === 1) return diffs[0]!;
  const files = new Map(diffs.flatMap(({ data }) => data.map((file) => [file.path, file] as const)));
  const truncated = diffs.some((diff) => diff.truncated);
  return { ...diffs[0]!, data: [...files.values()], truncated };
}

async function paint(body: ReadableStream<Uint8Array>, { stdout }: Terminal): Promise<void> {
  const painter = new PatchPainter(stdout.style);
  let rest = '';
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) stdout.write(`${painter.paint(line)}\n`);
  }
  if (rest !== '') stdout.write(`${painter.paint(rest)}\n`);
}
