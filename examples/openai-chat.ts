/** A chat with OpenAI's own library. Each answer comes from an agent that may use its tools first. */
import OpenAI from 'openai';

const client = new OpenAI({
  baseURL: `${process.env.TALARIA_BASE_URL ?? 'http://127.0.0.1:8642'}/v1`,
  apiKey: process.env.TALARIA_API_KEY ?? 'none',
});
const messages: OpenAI.ChatCompletionMessageParam[] = [];

async function ask(content: string): Promise<string> {
  messages.push({ role: 'user', content });
  const stream = await client.chat.completions.create({ model: 'hermes-agent', messages, stream: true });
  let answer = '';
  for await (const chunk of stream) answer += chunk.choices[0]?.delta.content ?? '';
  messages.push({ role: 'assistant', content: answer });
  return answer;
}

console.log((await ask('Run `expr 6 \\* 7`')).includes('42')); //=> true
console.log((await ask('And `expr 42 + 1`?')).includes('43')); //=> true
