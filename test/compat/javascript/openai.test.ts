/** OpenAI's own package at four majors. The calls are those of its README; where a major has moved one, both are named. */
import OpenAI4 from 'openai-4';
import OpenAI5 from 'openai-5';
import OpenAI6 from 'openai-6';
import OpenAI7 from 'openai-7';
import type { Task } from '../capabilities.ts';
import { describeClient, type TestedClient } from '../describe-client.ts';
import type { ClientId } from '../features.ts';
import { messageOf, orRefusal, statusOf } from './errors.ts';
import { versionOf } from './installed-version.ts';
import { celsius, WEATHER_SCHEMA } from './weather.ts';

type Sdk = typeof OpenAI7;
type Message = OpenAI7.ChatCompletionMessageParam;
type Call = OpenAI7.ChatCompletionMessageFunctionToolCall;

const CHAT_TOOL: OpenAI7.ChatCompletionTool = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The temperature in a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};
const RESPONSES_TOOL: OpenAI7.Responses.FunctionTool = {
  type: 'function',
  name: 'get_weather',
  description: 'The temperature in a city',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
  strict: true,
};

describeSdk('openai-4', OpenAI4 as unknown as Sdk);
describeSdk('openai-5', OpenAI5 as unknown as Sdk);
describeSdk('openai-6', OpenAI6 as unknown as Sdk);
describeSdk('openai-7', OpenAI7);

function describeSdk(id: ClientId, OpenAI: Sdk): void {
  const client = ({ base_url, api_key }: Task) => new OpenAI({ baseURL: base_url, apiKey: api_key });
  describeClient({
    id,
    name: 'openai',
    version: versionOf(id),
    shows: { ...chat(client), ...responses(client) },
  });
}

function chat(clientOf: (task: Task) => OpenAI7): TestedClient['shows'] {
  const user = (content: string): Message[] => [{ role: 'user', content }];

  /** Sends a request, runs the calls, and repeats until there is an answer. */
  async function converse(task: Task, ask: (messages: Message[]) => Promise<Answer>) {
    const messages = user(task.prompts[0]!);
    const calls: { city: string }[] = [];
    for (;;) {
      const { text, tool_calls } = await ask(messages);
      if (tool_calls.length === 0) return { text, calls };
      messages.push({ role: 'assistant', content: text || null, tool_calls });
      for (const { id, function: called } of tool_calls) {
        const args = JSON.parse(called.arguments) as { city: string };
        calls.push(args);
        messages.push({ role: 'tool', tool_call_id: id, content: JSON.stringify(celsius(args)) });
      }
    }
  }

  interface Answer {
    text: string;
    tool_calls: Call[];
  }

  const inOnePiece = (task: Task) => async (messages: Message[]) => {
    const { choices } = await clientOf(task).chat.completions.create({
      model: task.model,
      messages,
      tools: [CHAT_TOOL],
    });
    const { content, tool_calls } = choices[0]!.message;
    if (tool_calls?.length && choices[0]!.finish_reason !== 'tool_calls')
      throw new Error(`Calls with the finish reason ${choices[0]!.finish_reason}`);
    return { text: content ?? '', tool_calls: (tool_calls ?? []) as Call[] };
  };

  const inChunks = (task: Task) => async (messages: Message[]) => {
    const stream = await clientOf(task).chat.completions.create({
      model: task.model,
      messages,
      tools: [CHAT_TOOL],
      stream: true,
    });
    const answer: Answer = { text: '', tool_calls: [] };
    for await (const chunk of stream) {
      const { delta } = chunk.choices[0]!;
      answer.text += delta.content ?? '';
      for (const { index, id, function: called } of delta.tool_calls ?? []) {
        answer.tool_calls[index] ??= { id: id!, type: 'function', function: { name: '', arguments: '' } };
        answer.tool_calls[index].function.name += called?.name ?? '';
        answer.tool_calls[index].function.arguments += called?.arguments ?? '';
      }
    }
    return answer;
  };

  async function streamed(task: Task) {
    const stream = await clientOf(task).chat.completions.create({
      model: task.model,
      messages: user(task.prompts[0]!),
      stream: true,
    });
    let text = '';
    let pieces = 0;
    for await (const chunk of stream) {
      // As everybody writes it: without checking whether there is a choice.
      const { content } = chunk.choices[0]!.delta;
      if (!content) continue;
      text += content;
      pieces += 1;
    }
    return { text, pieces };
  }

  async function textOf(task: Task, content: OpenAI7.ChatCompletionContentPart[]) {
    const { choices } = await clientOf(task).chat.completions.create({
      model: task.model,
      messages: [{ role: 'user', content }],
    });
    return { text: choices[0]!.message.content };
  }

  async function turns(task: Task) {
    const messages: Message[] = [];
    const texts: (string | null)[] = [];
    for (const prompt of task.prompts) {
      messages.push(...user(prompt));
      const { choices } = await clientOf(task).chat.completions.create({ model: task.model, messages });
      messages.push(choices[0]!.message);
      texts.push(choices[0]!.message.content);
    }
    return { texts };
  }

  const text = (task: Task) => textOf(task, [{ type: 'text', text: task.prompts[0]! }]);
  const failure = async (task: Task) => ({ status: await statusOf(text(task)) });

  return {
    'chat: text': text,
    'chat: stream': streamed,
    'chat: server tools': (task) => converse(task, inOnePiece(task)),
    'chat: server tools in a stream': streamed,
    'chat: client tools': (task) => converse(task, inOnePiece(task)),
    'chat: client tools in a stream': (task) => converse(task, inChunks(task)),
    'chat: parallel client tools': (task) => converse(task, inOnePiece(task)),
    'chat: client and server tools in one step': (task) => converse(task, inChunks(task)),
    async 'chat: JSON schema'(task) {
      const client = clientOf(task);
      // Before version 5 it was under `beta`.
      const completions =
        'parse' in client.chat.completions
          ? client.chat.completions
          : (client.beta as unknown as Pick<OpenAI7, 'chat'>).chat.completions;
      const { choices } = await completions.parse({
        model: task.model,
        messages: user(task.prompts[0]!),
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'weather', schema: WEATHER_SCHEMA, strict: true },
        },
      });
      return { value: choices[0]!.message.parsed };
    },
    async 'chat: JSON object'(task) {
      const { choices } = await clientOf(task).chat.completions.create({
        model: task.model,
        messages: user(task.prompts[0]!),
        response_format: { type: 'json_object' },
      });
      return { value: JSON.parse(choices[0]!.message.content!) };
    },
    'chat: several turns': turns,
    'chat: turns after server tools': turns,
    'chat: images': (task) =>
      textOf(task, [
        { type: 'text', text: task.prompts[0]! },
        { type: 'image_url', image_url: { url: task.image } },
      ]),
    'chat: a file is taken, or refused with a reason': (task) =>
      orRefusal(
        textOf(task, [
          { type: 'text', text: task.prompts[0]! },
          { type: 'file', file: { filename: task.file.name, file_data: task.file.data_url } },
        ]),
      ),
    async 'chat: errors'(task) {
      const messages = user('hello');
      const { model } = task;
      return {
        wrong_key: await statusOf(
          clientOf({ ...task, api_key: 'wrong' }).chat.completions.create({ model, messages }),
        ),
        not_found: await statusOf(clientOf(task).models.retrieve('none')),
        bad_request: await statusOf(clientOf(task).chat.completions.create({ model, messages: [] })),
      };
    },
    'chat: a failed run is not repeated': failure,
    'chat: a stopped run is not repeated': failure,
    'chat: a failed run in a stream': async (task) => ({ error: await messageOf(streamed(task)) }),
  };
}

function responses(clientOf: (task: Task) => OpenAI7): TestedClient['shows'] {
  type Input = OpenAI7.Responses.ResponseInput;

  /** Sends a request, runs the calls, and answers under the id of the response that made them. */
  async function converse(task: Task, ask: (body: Body) => Promise<OpenAI7.Responses.Response>) {
    let response = await ask({ input: task.prompts[0]! });
    const calls: { city: string }[] = [];
    for (;;) {
      const called = response.output.filter((item) => item.type === 'function_call');
      if (called.length === 0) return { text: textIn(response), calls };
      const input: Input = called.map((item) => {
        const args = JSON.parse(item.arguments) as { city: string };
        calls.push(args);
        return {
          type: 'function_call_output',
          call_id: item.call_id,
          output: JSON.stringify(celsius(args)),
        };
      });
      response = await ask({ input, previous_response_id: response.id });
    }
  }

  interface Body {
    input: string | Input;
    previous_response_id?: string;
  }

  /** `output_text`, which the final response of a stream did not have before version 6. */
  function textIn({ output }: OpenAI7.Responses.Response): string {
    const parts = output.flatMap((item) => (item.type === 'message' ? item.content : []));
    return parts.map((part) => (part.type === 'output_text' ? part.text : '')).join('');
  }

  const inOnePiece = (task: Task) => (body: Body) =>
    clientOf(task).responses.create({ model: task.model, tools: [RESPONSES_TOOL], ...body });

  const inEvents = (task: Task) => (body: Body) =>
    clientOf(task)
      .responses.stream({ model: task.model, tools: [RESPONSES_TOOL], ...body })
      .finalResponse();

  async function streamed(task: Task) {
    const stream = await clientOf(task).responses.create({
      model: task.model,
      input: task.prompts[0]!,
      stream: true,
    });
    let text = '';
    let pieces = 0;
    for await (const event of stream) {
      if (event.type === 'response.failed') throw new Error(event.response.error?.message);
      if (event.type !== 'response.output_text.delta') continue;
      text += event.delta;
      pieces += 1;
    }
    return { text, pieces };
  }

  async function textOf(task: Task, input: string | Input) {
    const { output_text } = await clientOf(task).responses.create({ model: task.model, input });
    return { text: output_text };
  }

  const parts = (task: Task, part: OpenAI7.Responses.ResponseInputContent): Input => [
    { role: 'user', content: [{ type: 'input_text', text: task.prompts[0]! }, part] },
  ];

  async function value(task: Task, format: OpenAI7.Responses.ResponseFormatTextConfig) {
    const response = await clientOf(task).responses.parse({
      model: task.model,
      input: task.prompts[0]!,
      text: { format },
    });
    return { value: response.output_parsed ?? JSON.parse(response.output_text) };
  }

  async function turns(task: Task) {
    const texts: string[] = [];
    let previous_response_id: string | null = null;
    for (const input of task.prompts) {
      const response: OpenAI7.Responses.Response = await clientOf(task).responses.create({
        model: task.model,
        input,
        previous_response_id,
      });
      previous_response_id = response.id;
      texts.push(response.output_text);
    }
    return { texts };
  }

  const text = (task: Task) => textOf(task, task.prompts[0]!);
  const failure = async (task: Task) => ({ status: await statusOf(text(task)) });

  return {
    'responses: text': text,
    'responses: stream': streamed,
    'responses: server tools': (task) => converse(task, inOnePiece(task)),
    'responses: server tools in a stream': streamed,
    'responses: client tools': (task) => converse(task, inOnePiece(task)),
    'responses: client tools in a stream': (task) => converse(task, inEvents(task)),
    'responses: parallel client tools': (task) => converse(task, inOnePiece(task)),
    'responses: client and server tools in one step': (task) => converse(task, inEvents(task)),
    'responses: JSON schema': (task) =>
      value(task, { type: 'json_schema', name: 'weather', schema: WEATHER_SCHEMA, strict: true }),
    'responses: JSON object': (task) => value(task, { type: 'json_object' }),
    'responses: several turns': turns,
    'responses: turns after server tools': turns,
    'responses: images': (task) =>
      textOf(task, parts(task, { type: 'input_image', image_url: task.image, detail: 'auto' })),
    'responses: a file is taken, or refused with a reason': (task) =>
      orRefusal(
        textOf(
          task,
          parts(task, { type: 'input_file', filename: task.file.name, file_data: task.file.data_url }),
        ),
      ),
    async 'responses: errors'(task) {
      const { model } = task;
      return {
        wrong_key: await statusOf(
          clientOf({ ...task, api_key: 'wrong' }).responses.create({ model, input: 'hello' }),
        ),
        not_found: await statusOf(
          clientOf(task).responses.create({ model, input: 'hello', previous_response_id: 'resp_none' }),
        ),
        bad_request: await statusOf(clientOf(task).responses.create({ model, input: [] })),
      };
    },
    'responses: a failed run is not repeated': failure,
    'responses: a stopped run is not repeated': failure,
    'responses: a failed run in a stream': async (task) => ({ error: await messageOf(streamed(task)) }),
  };
}
