/** `talaria run`: starts a run and follows it, or leaves it alone. */
import type { CreateRunParams } from '@talaria/client';
import { connect } from '../client/connect.ts';
import { CommandError } from '../command-error.ts';
import type { Arguments } from '../commands.ts';
import { exitCodes } from '../exit-codes.ts';
import { readText } from '../read-text.ts';
import type { Terminal } from '../terminal.ts';
import { safeJson, safeLine } from '../text/safe-text.ts';
import { followRun } from './follow-run.ts';
import { openView } from './open-view.ts';

/** A server that is busy or being updated is asked again; the idempotency key makes that safe. */
const CREATE_RETRIES = 2;

export async function run(args: Arguments<'run'>, terminal: Terminal): Promise<number> {
  const input = await readText(args.prompt, 'the prompt', terminal);
  const client = connect(args, terminal);
  const params: CreateRunParams = { input, session_id: args.session, instructions: args.instructions };
  const created = await client.runs.create(params, {
    maxRetries: CREATE_RETRIES,
    idempotencyKey: args['idempotency-key'],
  });
  const { run_id: runId } = created;
  if (safeLine(runId) !== runId) throw new CommandError('The server gave the run an id that cannot be shown');
  if (args.json) terminal.out(safeJson(created));
  if (args.detach) {
    if (!args.json) terminal.out(runId);
    if (terminal.stdout.isTerminal && !args.quiet && !args.json)
      terminal.err(`Watch it: talaria watch ${runId}`);
    return exitCodes.ok;
  }
  using view = openView(args, terminal);
  return await followRun({ client, runId, view, terminal });
}
