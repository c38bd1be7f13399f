/**
 * Starts runs, also again with the prompt of an earlier run, in the same session if it had one. The head of a run has only
 * the beginning of a long prompt, and no files. The session's transcript has the whole prompt: find the message with the same
 * beginning. The transcript lacks the prompt of a failed run; only the page that sent it still has it. A fork is more than its
 * prompt, so it is forked again, from before its first step.
 */
import type { Run, Talaria } from '@talaria/client';

/** How much of the prompt the head has. */
const HEAD_CHARACTERS = 500;

export interface Prompt {
  text: string;
  /** They are in the workspace of the run, and the model is told. */
  files?: readonly File[];
}

/** The whole prompts that this page sent last, by run, so that they can be sent again: a head has only a part. */
const sent = new Map<string, Prompt>();
const SENT_KEPT = 50;

/** The id of the new run, whose prompt can be sent again. */
export async function startRun(client: Talaria, prompt: Prompt, sessionId?: string): Promise<string> {
  const { text, files = [] } = prompt;
  const fileIds = await Promise.all(files.map(async (file) => (await client.files.create({ file })).id));
  try {
    const session = sessionId === undefined ? {} : { session_id: sessionId };
    const { run_id } = await client.runs.create({ input: toInput(text, fileIds), ...session });
    if (text.length >= HEAD_CHARACTERS || files.length > 0) remember(run_id, prompt);
    return run_id;
  } finally {
    // The run has its own hold on them: nobody would find them among the uploads.
    for (const id of fileIds) client.files.delete(id).catch(() => {});
  }
}

function toInput(text: string, fileIds: readonly string[]) {
  if (fileIds.length === 0) return text;
  const files = fileIds.map((file_id) => ({ type: 'input_file', file_id }));
  return [{ role: 'user', content: [{ type: 'input_text', text }, ...files] }];
}

function remember(runId: string, prompt: Prompt): void {
  sent.set(runId, prompt);
  if (sent.size > SENT_KEPT) sent.delete(sent.keys().next().value!);
}

/** The id of the new run. */
export async function retryRun(client: Talaria, run: Run): Promise<string> {
  if (run.forked_from !== undefined) return (await client.runs.fork(run.run_id, { at: 0 })).run_id;
  const sessionId = run.session_id === run.run_id ? undefined : run.session_id;
  return startRun(client, sent.get(run.run_id) ?? { text: await wholeInput(client, run) }, sessionId);
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
