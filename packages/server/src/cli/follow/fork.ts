/** `talaria fork`: starts a fork of a run and follows it, or leaves it alone. */
import { APIError } from '@talaria/client';
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
  const created = await client.runs
    .fork(
      runId,
      { at, input, instructions },
      { maxRetries: CREATE_RETRIES, idempotencyKey: args['idempotency-key'] },
    )
    .catch((error: unknown) => {
      throw inWordsOfCommand(error);
    });
  const changes = changesOf(client, { directory: '.', server: args.server }, terminal);
  return followCreated(client, created, args, terminal, changes);
}

/** The server names the fields of its API. Programs still find its code and status. */
function inWordsOfCommand(error: unknown): unknown {
  if (!(error instanceof APIError) || error.code !== 'missing_input') return error;
  const message =
    "At that event the conversation ends with the model's answer: give a [prompt], or an earlier event with --at";
  return new APIError({ ...error, message });
}
