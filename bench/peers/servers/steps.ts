/** The steps of a run for servers that bring workflows, but no agent: asking the model, and a command. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The text that the model answers with. */
export async function askModel(modelUrl: string, prompt: string): Promise<string> {
  let text = '';
  for await (const piece of streamModel(modelUrl, prompt)) text += piece;
  return text;
}

/** The pieces of the answer, as they arrive. */
export async function* streamModel(modelUrl: string, prompt: string): AsyncGenerator<string> {
  const answer = await fetch(`${modelUrl}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'bench', stream: true, messages: [{ role: 'user', content: prompt }] }),
  });
  let rest = '';
  for await (const part of answer.body!.pipeThrough(new TextDecoderStream())) {
    const frames = (rest + part).split('\n\n');
    rest = frames.pop()!;
    const piece = frames.map(textOf).join('');
    if (piece !== '') yield piece;
  }
}

function textOf(frame: string): string {
  if (!frame.startsWith('data: {')) return '';
  const { choices } = JSON.parse(frame.slice('data: '.length)) as {
    choices: { delta: { content?: string } }[];
  };
  return choices[0]?.delta.content ?? '';
}

export async function runCommand(): Promise<number> {
  await run('true');
  return 0;
}
