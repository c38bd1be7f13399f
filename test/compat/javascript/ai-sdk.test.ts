/** The AI SDK with its two providers that speak OpenAI's dialects. `createOpenAI` speaks responses unless told otherwise. */
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
  generateObject,
  generateText,
  isStepCount,
  type LanguageModel,
  type ModelMessage,
  Output,
  streamText,
  tool,
  type UserContent,
} from 'ai';
import { z } from 'zod';
import type { Task } from '../capabilities.ts';
import { describeClient, type TestedClient, through } from '../describe-client.ts';
import type { Api } from '../features.ts';
import { messageOf, orRefusal, statusOf } from './errors.ts';
import { versionOf } from './installed-version.ts';
import { celsius } from './weather.ts';

const schema = z.object({ city: z.string(), celsius: z.number() });

const openai = ({ base_url, api_key }: Task) => createOpenAI({ baseURL: base_url, apiKey: api_key });
const compatible = ({ base_url, api_key }: Task) =>
  createOpenAICompatible({
    name: 'talaria',
    baseURL: base_url,
    apiKey: api_key,
    supportsStructuredOutputs: true,
  });

describeClient({
  id: '@ai-sdk/openai',
  name: `ai ${versionOf('ai')} with @ai-sdk/openai`,
  version: versionOf('@ai-sdk/openai'),
  shows: {
    ...capabilitiesOf('chat', (task) => openai(task).chat(task.model)),
    ...capabilitiesOf('responses', (task) => openai(task)(task.model)),
  },
});

describeClient({
  id: '@ai-sdk/openai-compatible',
  name: `ai ${versionOf('ai')} with @ai-sdk/openai-compatible`,
  version: versionOf('@ai-sdk/openai-compatible'),
  shows: capabilitiesOf('chat', (task) => compatible(task)(task.model)),
});

function capabilitiesOf(api: Api, modelOf: (task: Task) => LanguageModel): TestedClient['shows'] {
  async function answer(task: Task, content: UserContent = task.prompts[0]!) {
    const { text } = await generateText({ model: modelOf(task), messages: [{ role: 'user', content }] });
    return { text };
  }

  async function streamed(task: Task) {
    const { stream } = streamText({
      model: modelOf(task),
      prompt: task.prompts[0]!,
      onError: () => {},
    });
    let text = '';
    let pieces = 0;
    for await (const part of stream) {
      if (part.type === 'error') throw part.error;
      if (part.type !== 'text-delta') continue;
      text += part.text;
      pieces += 1;
    }
    return { text, pieces };
  }

  const withTools = (stream: boolean) => async (task: Task) => {
    const calls: { city: string }[] = [];
    const options = {
      model: modelOf(task),
      prompt: task.prompts[0]!,
      stopWhen: isStepCount(5),
      tools: {
        get_weather: tool({
          description: 'The temperature in a city',
          inputSchema: z.object({ city: z.string() }),
          execute: async (args) => {
            calls.push(args);
            return celsius(args);
          },
        }),
      },
    };
    const text = stream ? await streamText(options).text : (await generateText(options)).text;
    return { text, calls };
  };

  /** With responses, the second turn names the items of the first (`item_reference`) instead of repeating them. */
  async function turns(task: Task) {
    const messages: ModelMessage[] = [];
    const texts: string[] = [];
    for (const content of task.prompts) {
      messages.push({ role: 'user', content });
      const { text, responseMessages } = await generateText({ model: modelOf(task), messages });
      messages.push(...responseMessages);
      texts.push(text);
    }
    return { texts };
  }

  return through(api, {
    text: answer,
    stream: streamed,
    'server tools': withTools(false),
    'server tools in a stream': streamed,
    'client tools': withTools(false),
    'client tools in a stream': withTools(true),
    'parallel client tools': withTools(false),
    'client and server tools in one step': withTools(true),
    async 'JSON schema'(task) {
      const { object } = await generateObject({ model: modelOf(task), prompt: task.prompts[0]!, schema });
      return { value: object };
    },
    async 'JSON object'(task) {
      const output = Output.json();
      return {
        value: (await generateText({ model: modelOf(task), prompt: task.prompts[0]!, output })).output,
      };
    },
    'several turns': turns,
    'turns after server tools': turns,
    images: (task) =>
      answer(task, [
        { type: 'text', text: task.prompts[0]! },
        { type: 'file', mediaType: 'image/png', data: task.image },
      ]),
    'a file is taken, or refused with a reason': (task) =>
      orRefusal(
        answer(task, [
          { type: 'text', text: task.prompts[0]! },
          { type: 'file', mediaType: 'application/pdf', filename: task.file.name, data: task.file.data_url },
        ]),
      ),
    errors: async (task) => ({ wrong_key: await statusOf(answer({ ...task, api_key: 'wrong' }, 'hello')) }),
    'a failed run is not repeated': async (task) => ({ status: await statusOf(answer(task)) }),
    'a stopped run is not repeated': async (task) => ({ status: await statusOf(answer(task)) }),
    'a failed run in a stream': async (task) => ({ error: await messageOf(streamed(task)) }),
  });
}
