/**
 * Starts another run with the prompt of one, in its session if it was given one. The head of a run has only the beginning
 * of a long prompt; all of it is in the transcript of the session, as the message that begins like it. A fork is more than
 * its prompt, so it is forked again, from before its first step.
 */
import type { Run, Talaria } from '@talaria/client';

/** How much of the prompt the head has. */
const HEAD_CHARACTERS = 500;

/** The id of the new run. */
export async function retryRun(client: Talaria, run: Run): Promise<string> {
  if (run.forked_from !== undefined) return (await client.runs.fork(run.run_id, { at: 0 })).run_id;
  const session = run.session_id === run.run_id ? {} : { session_id: run.session_id };
  const { run_id } = await client.runs.create({ input: await wholeInput(client, run), ...session });
  return run_id;
}

async function wholeInput(client: Talaria, { run_id, session_id, input = '' }: Run): Promise<string> {
  if (input.length < HEAD_CHARACTERS) return input;
  const { data } = await client.sessions.messages(session_id ?? run_id);
  const beginning = input.slice(0, HEAD_CHARACTERS - 1);
  const message = data.findLast(
    ({ role, content }) => role === 'user' && typeof content === 'string' && content.startsWith(beginning),
  );
  if (typeof message?.content === 'string') return message.content;
  throw new Error(
    'The prompt is longer than what the server shows of it, so it cannot be sent again from here.',
  );
}
