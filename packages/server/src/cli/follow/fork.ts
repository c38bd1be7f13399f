/** `talaria fork`: starts a fork of a run and follows it, or leaves it alone. */
import { connect } from '../client/connect.ts';
import { findRun } from '../client/find-run.ts';
import type { Arguments } from '../commands.ts';
import { readText } from '../read-text.ts';
import type { Terminal } from '../terminal.ts';
import { changesOf } from './changes-of.ts';
import { CREATE_RETRIES, followCreated } from './follow-created.ts';

export async function fork(args: Arguments<'fork'>, terminal: Terminal): Promise<number> {
  const { at, prompt, instructions } = args;
  const input = prompt === undefined ? undefined : await readText(prompt, 'the prompt', terminal);
  const client = connect(args, terminal);
  const runId = await findRun(client, args.run);
  const created = await client.runs.fork(
    runId,
    { at, input, instructions },
    { maxRetries: CREATE_RETRIES, idempotencyKey: args['idempotency-key'] },
  );
  const changes = changesOf(client, { directory: '.', server: args.server }, terminal);
  return followCreated(client, created, args, terminal, changes);
}
