/** `talaria run`: starts a run and follows it, or leaves it alone. */
import type { CreateRunParams } from '@talaria/client';
import { connect } from '../client/connect.ts';
import type { Arguments } from '../commands.ts';
import { readText } from '../read-text.ts';
import type { Terminal } from '../terminal.ts';
import { CREATE_RETRIES, followCreated } from './follow-created.ts';

export async function run(args: Arguments<'run'>, terminal: Terminal): Promise<number> {
  const input = await readText(args.prompt, 'the prompt', terminal);
  const client = connect(args, terminal);
  const params: CreateRunParams = { input, session_id: args.session, instructions: args.instructions };
  const created = await client.runs.create(params, {
    maxRetries: CREATE_RETRIES,
    idempotencyKey: args['idempotency-key'],
  });
  return followCreated(client, created, args, terminal);
}
