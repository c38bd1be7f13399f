/**
 * The conversation up to the point where a run waited for its client, as the history of another run. A client may go
 * back to a response that asked for calls and give other outputs than the run has got, or give them too late.
 */
import type { CreateResponse, HistoryMessage, ToolOutput } from '@talaria/protocol';
import { Progress } from '../agent/progress.ts';
import type { Journal } from '../journal/journal.ts';
import type { Message } from '../journal/messages.ts';
import type { StoredResponse } from '../journal/responses.ts';
import { toClientCallId } from './call-ids.ts';

/** The request with its whole history; undefined when the run is gone, or did not wait at that point. */
export async function branchFrom(
  journal: Pick<Journal, 'readLog' | 'sessions'>,
  { owner, runId, sessionId, afterSeq }: StoredResponse,
  asked: CreateResponse,
): Promise<CreateResponse | undefined> {
  const log = await journal.readLog(runId, -1);
  const wait = log.findIndex(({ event, seq }) => event === 'run.waiting' && seq !== null && seq > afterSeq);
  if (wait === -1) return undefined;
  const progress = Progress.replay(log.slice(0, wait + 1));
  const { contextRange: range } = progress;
  if (range !== undefined) {
    const stored = await journal.sessions.messages(owner, sessionId, range);
    progress.context = stored.map(({ message }) => message);
  }
  const said = [...progress.transcript().map(toHistory), ...resultsOf(runId, progress, asked.outputs)];
  const branch = { ...asked, previousResponseId: undefined, leadIn: undefined };
  if (asked.promptIsLast) return { ...branch, history: said, followUp: undefined };
  const prompt = said.findLastIndex(({ role }) => role === 'user');
  return {
    ...branch,
    prompt: said[prompt]!.content,
    history: said.slice(0, prompt),
    followUp: said.slice(prompt + 1),
  };
}

/** For the calls of the waiting step: the server's own outcomes, and the outputs that the client gives now. */
function resultsOf(runId: string, { calls }: Progress, outputs: readonly ToolOutput[]): HistoryMessage[] {
  const given = new Map(outputs.map(({ toolCallId, output }) => [toolCallId, output]));
  return calls.map(({ call, outcome }) => ({
    role: 'tool',
    tool_call_id: call.id,
    content: outcome?.output ?? given.get(toClientCallId(runId, call.id)) ?? '',
  }));
}

function toHistory(message: Message): HistoryMessage {
  switch (message.role) {
    case 'system':
    case 'user':
      return message;
    case 'assistant': {
      const text = message.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
      const calls = message.content.flatMap((part) =>
        part.type === 'tool_call' ? [{ id: part.id, tool: part.tool, arguments: part.arguments }] : [],
      );
      return { role: 'assistant', content: text, ...(calls.length === 0 ? {} : { tool_calls: calls }) };
    }
    case 'tool':
      return { role: 'tool', content: message.output, tool_call_id: message.tool_call_id };
  }
}
