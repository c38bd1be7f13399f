/** OpenAI's Agents SDK: a loop of its own around either API, which runs every function call that it is given. */
import { Agent, type AgentInputItem, OpenAIProvider, Runner, tool } from '@openai/agents';
import { z } from 'zod';
import type { Task } from '../capabilities.ts';
import { describeClient, type TestedClient, through } from '../describe-client.ts';
import type { Api } from '../features.ts';
import { messageOf, orRefusal, statusOf } from './errors.ts';
import { versionOf } from './installed-version.ts';
import { celsius } from './weather.ts';

const Weather = z.object({ city: z.string(), celsius: z.number() });

describeClient({
  id: '@openai/agents',
  name: '@openai/agents',
  version: versionOf('@openai/agents'),
  shows: { ...capabilitiesOf('chat'), ...capabilitiesOf('responses') },
});

function capabilitiesOf(api: Api): TestedClient['shows'] {
  const runnerOf = ({ base_url, api_key }: Task) =>
    new Runner({
      modelProvider: new OpenAIProvider({
        baseURL: base_url,
        apiKey: api_key,
        useResponses: api === 'responses',
      }),
      tracingDisabled: true,
    });
  const agentOf = ({ model }: Task) => new Agent({ name: 'assistant', model });

  async function answer(task: Task, input: string | AgentInputItem[] = task.prompts[0]!) {
    const result = await runnerOf(task).run(agentOf(task), input);
    return { text: result.finalOutput };
  }

  async function streamed(task: Task) {
    const result = await runnerOf(task).run(agentOf(task), task.prompts[0]!, { stream: true });
    let text = '';
    let pieces = 0;
    for await (const piece of result.toTextStream()) {
      text += piece;
      pieces += 1;
    }
    await result.completed;
    return { text, pieces };
  }

  const withTools = (stream: boolean) => async (task: Task) => {
    const calls: { city: string }[] = [];
    const getWeather = tool({
      name: 'get_weather',
      description: 'The temperature in a city',
      parameters: z.object({ city: z.string() }),
      execute: async (args) => {
        calls.push(args);
        return celsius(args);
      },
    });
    const agent = new Agent({ name: 'assistant', model: task.model, tools: [getWeather] });
    if (!stream) {
      const { finalOutput } = await runnerOf(task).run(agent, task.prompts[0]!);
      return { text: finalOutput, calls };
    }
    const result = await runnerOf(task).run(agent, task.prompts[0]!, { stream: true });
    for await (const _ of result);
    return { text: result.finalOutput, calls };
  };

  async function handedOver(task: Task) {
    const { model } = task;
    const getWeather = tool({
      name: 'get_weather',
      description: 'The temperature in a city',
      parameters: z.object({ city: z.string() }),
      execute: async (args) => celsius(args),
    });
    const expert = new Agent({
      name: 'expert',
      model,
      instructions: 'You are the expert.',
      tools: [getWeather],
    });
    const receptionist = new Agent({
      name: 'receptionist',
      model,
      instructions: 'You are the receptionist.',
      handoffs: [expert],
    });
    const { finalOutput, lastAgent } = await runnerOf(task).run(receptionist, task.prompts[0]!);
    return { text: finalOutput, agent: lastAgent?.name };
  }

  /** The items of the first turn are sent again with the second: those of the server's tools, too. */
  async function turns(task: Task) {
    const texts: unknown[] = [];
    let history: AgentInputItem[] = [];
    for (const content of task.prompts) {
      const result = await runnerOf(task).run(agentOf(task), [...history, { role: 'user', content }]);
      history = result.history;
      texts.push(result.finalOutput);
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
    'another agent takes over': handedOver,
    async 'JSON schema'(task) {
      const agent = new Agent({ name: 'assistant', model: task.model, outputType: Weather });
      return { value: (await runnerOf(task).run(agent, task.prompts[0]!)).finalOutput };
    },
    'several turns': turns,
    'turns after server tools': turns,
    images: (task) =>
      answer(task, [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: task.prompts[0]! },
            { type: 'input_image', image: task.image },
          ],
        },
      ]),
    'a file is taken, or refused with a reason': (task) =>
      orRefusal(
        answer(task, [
          {
            role: 'user',
            content: [
              { type: 'input_text', text: task.prompts[0]! },
              { type: 'input_file', file: task.file.data_url, filename: task.file.name },
            ],
          },
        ]),
      ),
    errors: async (task) => ({ wrong_key: await statusOf(answer({ ...task, api_key: 'wrong' }, 'hello')) }),
    'a failed run is not repeated': async (task) => ({ status: await statusOf(answer(task)) }),
    'a stopped run is not repeated': async (task) => ({ status: await statusOf(answer(task)) }),
    'a failed run in a stream': async (task) => ({ error: await messageOf(streamed(task)) }),
  });
}
