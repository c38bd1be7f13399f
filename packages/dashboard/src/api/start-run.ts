/**
 * Starts runs, also once more with the prompt of another, in its session if it had one. The head of a run has only the
 * beginning of a long prompt. All of it is in the transcript of the session, as the message that begins like it, unless the run
 * failed; then only the page that sent it has it. A fork is more than its prompt, so it is forked again, from before its first
 * step.
 */
import type { Run, Talaria } from '@talaria/client';

/** How much of the prompt the head has. */
const HEAD_CHARACTERS = 500;

/** The long prompts that this page has sent, by run. Somebody may come back to one of the last. */
const sent = new Map<string, string>();
const SENT_KEPT = 50;

/** Creates a run whose prompt can be sent again. Resolves with its id. */
export async function startRun(client: Talaria, input: string, sessionId?: string): Promise<string> {
  const session = sessionId === undefined ? {} : { session_id: sessionId };
  const { run_id } = await client.runs.create({ input, ...session });
  if (input.length < HEAD_CHARACTERS) return run_id;
  sent.set(run_id, input);
  if (sent.size > SENT_KEPT) sent.delete(sent.keys().next().value!);
  return run_id;
}

/** The id of the new run. */
export async function retryRun(client: Talaria, run: Run): Promise<string> {
  if (run.forked_from !== undefined) return (await client.runs.fork(run.run_id, { at: 0 })).run_id;
  const sessionId = run.session_id === run.run_id ? undefined : run.session_id;
  return startRun(client, await wholeInput(client, run), sessionId);
}

async function wholeInput(client: Talaria, { run_id, session_id, input = '' }: Run): Promise<string> {
  if (input.length < HEAD_CHARACTERS) return input;
  const known = sent.get(run_id);
  if (known !== undefined) return known;
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
