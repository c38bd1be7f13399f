/** LangChain's ChatOpenAI with either API. Its own retries (seven by default) are left as they are. */
import {
  type AIMessage,
  type BaseMessage,
  HumanMessage,
  type MessageContent,
  type ToolMessage,
} from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { z } from 'zod';
import type { Task } from '../capabilities.ts';
import { describeClient, type TestedClient, through } from '../describe-client.ts';
import type { Api } from '../features.ts';
import { messageOf, orRefusal, statusOf } from './errors.ts';
import { versionOf } from './installed-version.ts';
import { celsius } from './weather.ts';

const Weather = z.object({ city: z.string(), celsius: z.number() });

describeClient({
  id: '@langchain/openai',
  name: '@langchain/openai',
  version: versionOf('@langchain/openai'),
  outputTool: 'weather',
  shows: { ...capabilitiesOf('chat'), ...capabilitiesOf('responses') },
});

function capabilitiesOf(api: Api): TestedClient['shows'] {
  const modelOf = ({ model, base_url, api_key }: Task) =>
    new ChatOpenAI({
      model,
      apiKey: api_key,
      configuration: { baseURL: base_url },
      useResponsesApi: api === 'responses',
    });

  async function answer(task: Task, content: MessageContent = task.prompts[0]!) {
    return { text: (await modelOf(task).invoke([new HumanMessage({ content })])).text };
  }

  async function streamed(task: Task) {
    let text = '';
    let pieces = 0;
    for await (const chunk of await modelOf(task).stream(task.prompts[0]!)) {
      if (chunk.text === '') continue;
      text += chunk.text;
      pieces += 1;
    }
    return { text, pieces };
  }

  const withTools = (stream: boolean) => async (task: Task) => {
    const calls: { city: string }[] = [];
    const getWeather = tool(
      async (args: { city: string }) => {
        calls.push(args);
        return JSON.stringify(celsius(args));
      },
      {
        name: 'get_weather',
        description: 'The temperature in a city',
        schema: z.object({ city: z.string() }),
      },
    );
    const model = modelOf(task).bindTools([getWeather]);
    const messages: BaseMessage[] = [new HumanMessage(task.prompts[0]!)];
    for (;;) {
      const message = stream ? await concat(model.stream(messages)) : await model.invoke(messages);
      messages.push(message);
      if (!message.tool_calls?.length) return { text: message.text, calls };
      for (const call of message.tool_calls) messages.push((await getWeather.invoke(call)) as ToolMessage);
    }
  };

  async function concat(stream: ReturnType<ReturnType<ChatOpenAI['bindTools']>['stream']>) {
    let whole: AIMessage | undefined;
    for await (const chunk of await stream) {
      whole = whole === undefined ? chunk : (whole as typeof chunk).concat(chunk);
    }
    return whole!;
  }

  async function turns(task: Task) {
    const messages: BaseMessage[] = [];
    const texts: string[] = [];
    for (const prompt of task.prompts) {
      messages.push(new HumanMessage(prompt));
      const message = await modelOf(task).invoke(messages);
      messages.push(message);
      texts.push(message.text);
    }
    return { texts };
  }

  const typed =
    (method: 'jsonSchema' | 'functionCalling' | 'jsonMode') =>
    async (task: Task): Promise<{ value: unknown }> => ({
      value: await modelOf(task)
        .withStructuredOutput(Weather, { name: 'weather', method })
        .invoke(task.prompts[0]!),
    });

  return through(api, {
    text: answer,
    stream: streamed,
    'server tools': withTools(false),
    'server tools in a stream': streamed,
    'client tools': withTools(false),
    'client tools in a stream': withTools(true),
    'parallel client tools': withTools(false),
    'client and server tools in one step': withTools(true),
    'JSON schema': typed('jsonSchema'),
    'typed answer by a tool': typed('functionCalling'),
    'JSON object': typed('jsonMode'),
    'several turns': turns,
    'turns after server tools': turns,
    images: (task) =>
      answer(task, [
        { type: 'text', text: task.prompts[0]! },
        { type: 'image_url', image_url: { url: task.image } },
      ]),
    'a file is taken, or refused with a reason': (task) =>
      orRefusal(
        answer(task, [
          { type: 'text', text: task.prompts[0]! },
          {
            type: 'file',
            source_type: 'base64',
            mime_type: 'application/pdf',
            data: task.file.data_url.split(',')[1]!,
            metadata: { filename: task.file.name },
          },
        ]),
      ),
    errors: async (task) => ({ wrong_key: await statusOf(answer({ ...task, api_key: 'wrong' }, 'hello')) }),
    'a failed run is not repeated': async (task) => ({ status: await statusOf(answer(task)) }),
    'a stopped run is not repeated': async (task) => ({ status: await statusOf(answer(task)) }),
    'a failed run in a stream': async (task) => ({ error: await messageOf(streamed(task)) }),
  });
}
