/** Version 5 of the AI SDK. It knows fewer items of a response than later ones, and refuses what it does not know. */

import { generateText, stepCountIs, streamText, tool } from 'ai-5';
import { createOpenAI } from 'ai-sdk-openai-2';
import { z } from 'zod';
import type { Task } from '../capabilities.ts';
import { describeClient, type TestedClient, through } from '../describe-client.ts';
import type { Api } from '../features.ts';
import { messageOf, statusOf } from './errors.ts';
import { versionOf } from './installed-version.ts';
import { celsius } from './weather.ts';

describeClient({
  id: 'ai-sdk-openai-2',
  name: `ai ${versionOf('ai-5')} with @ai-sdk/openai`,
  version: versionOf('ai-sdk-openai-2'),
  shows: { ...capabilitiesOf('chat'), ...capabilitiesOf('responses') },
});

function capabilitiesOf(api: Api): TestedClient['shows'] {
  const modelOf = ({ base_url, api_key, model }: Task) =>
    createOpenAI({ baseURL: base_url, apiKey: api_key })[api](model);

  async function answer(task: Task) {
    return { text: (await generateText({ model: modelOf(task), prompt: task.prompts[0]! })).text };
  }

  async function streamed(task: Task) {
    const { fullStream } = streamText({ model: modelOf(task), prompt: task.prompts[0]!, onError: () => {} });
    let text = '';
    let pieces = 0;
    for await (const part of fullStream) {
      if (part.type === 'error') throw new Error(JSON.stringify(part.error));
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
      stopWhen: stepCountIs(5),
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

  return through(api, {
    text: answer,
    stream: streamed,
    'server tools': withTools(false),
    'server tools in a stream': streamed,
    'client tools': withTools(false),
    'client tools in a stream': withTools(true),
    'parallel client tools': withTools(true),
    'client and server tools in one step': withTools(true),
    errors: async (task) => ({
      wrong_key: await statusOf(answer({ ...task, api_key: 'wrong', prompts: ['hello'] })),
    }),
    'a failed run is not repeated': async (task) => ({ status: await statusOf(answer(task)) }),
    'a stopped run is not repeated': async (task) => ({ status: await statusOf(answer(task)) }),
    'a failed run in a stream': async (task) => ({ error: await messageOf(streamed(task)) }),
  });
}
