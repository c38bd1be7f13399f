/**
 * The model of the bench: OpenAI-compatible, and as cheap as possible, because it shares the machine with what is
 * measured. `bench:say N` in the prompt makes it stream N chunks of text as fast as they are read, `bench:hang` makes
 * it never answer, `bench:call TOOL JSON` makes it call a tool once and then say a chunk. The test model (test/support) does more, and costs more per chunk than the floors.
 */
import { createServer, type ServerResponse } from 'node:http';
import { listen } from './listen.ts';

/** About the length of a token of English. */
const WORD = ' word';
/** Chunks per write: a provider's packets hold a few, and one write per chunk would make this the slowest part. */
const GROUP = 5;

const HEAD = { id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 0, model: 'bench' };
const CHUNK = frame({ choices: [{ index: 0, delta: { content: WORD }, finish_reason: null }] });
const END = ending('stop');

listen(
  createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => {
      if (body.includes('bench:hang')) return;
      const call = body.includes('bench:call') ? wantedCall(body) : undefined;
      if (call !== undefined) {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end(call);
        return;
      }
      const chunks = Number(/bench:say (\d+)/.exec(body)?.[1] ?? 1);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      say(response, chunks);
    });
  }),
);

interface ChatRequest {
  messages: { role: string; content?: string | { text?: string }[] | null }[];
}

/** The frames of the call, if it was not made before. */
function wantedCall(body: string): string | undefined {
  const { messages } = JSON.parse(body) as ChatRequest;
  if (messages.some(({ role }) => role === 'tool')) return undefined;
  const texts = messages.flatMap(({ content }) =>
    typeof content === 'string' ? content : (content ?? []).map(({ text }) => text ?? ''),
  );
  const [, name, args] = /bench:call (\w+) (\{.*\})/.exec(texts.join('\n')) ?? [];
  const call = { index: 0, id: 'call_bench', type: 'function', function: { name, arguments: args } };
  return (
    frame({
      choices: [{ index: 0, delta: { role: 'assistant', tool_calls: [call] }, finish_reason: null }],
    }) + ending('tool_calls')
  );
}

/** One write per turn, so that concurrent streams advance side by side. */
function say(response: ServerResponse, chunks: number): void {
  const taken = response.write(CHUNK.repeat(Math.min(GROUP, chunks)));
  const left = chunks - GROUP;
  if (left <= 0) response.end(END);
  else if (taken) setImmediate(say, response, left);
  else response.once('drain', () => say(response, left));
}

function ending(reason: string): string {
  return (
    frame({ choices: [{ index: 0, delta: {}, finish_reason: reason }] }) +
    frame({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } }) +
    'data: [DONE]\n\n'
  );
}

function frame(fields: object): string {
  return `data: ${JSON.stringify({ ...HEAD, ...fields })}\n\n`;
}
