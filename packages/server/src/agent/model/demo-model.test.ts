import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Message } from '../../journal/messages.ts';
import { findCommands } from './demo-commands.ts';
import { DemoModel } from './demo-model.ts';
import { collect, collectFailure, withResults } from './testing/replay-server.ts';

describe('commands in a prompt', () => {
  test.each<[string, string[]]>([
    ['hello', []],
    ['run `ls -l` and then `pwd`', ['ls -l', 'pwd']],
    ['``echo `date` ``', ['echo `date`']],
    ['`` ls ``', ['ls']],
    ['```ls```', ['ls']],
    ['` `', []],
    ['an ` alone', []],
    ['```\nls\n```', ['ls']],
    ['first `a`\n```sh\ncd x\nmake\n```\nlast `b`', ['a', 'cd x\nmake', 'b']],
    ['```bash\necho "`date`"\n```', ['echo "`date`"']],
    ['```console\n$ ls\nfile\n$ pwd\n/\n```', ['ls\npwd']],
    ['```python\nprint(1)\n```', []],
    ['~~~\nls\n~~~', ['ls']],
    ['1. do:\n   ```sh\n   ls\n   ```', ['ls']],
    ['```\nunclosed', []],
    ['```\n\n```', []],
  ])('%j', (prompt, commands) => {
    expect(findCommands(prompt)).toEqual(commands);
  });

  test('any text is read in reasonable time', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('`', '~', '\n', ' ', 'a'), maxLength: 400 }), (text) => {
        expect(findCommands(text).every((command) => command.trim() !== '')).toBe(true);
      }),
    );
    const before = process.threadCpuUsage();
    for (const hard of ['```\n', '`a', '``a` ', '~~~a\n```b\n']) findCommands(hard.repeat(1_000_000));
    expect(process.threadCpuUsage(before).user).toBeLessThan(1_000_000);
  });
});

const model = new DemoModel();

/** Plays the loop: each call gets a result, until there are no calls. `steer` may add a message before a step. */
async function converse(
  messages: Message[],
  steer: (step: number) => Message[] = () => [],
): Promise<Message[]> {
  let conversation = messages;
  for (let step = 0; step < 20; step++) {
    conversation = [...conversation, ...steer(step)];
    const { finish } = await collect(model, { messages: conversation });
    conversation = withResults(conversation, finish.content, `output ${step}\n`);
    if (finish.reason === 'stop') return conversation;
  }
  throw new Error('The conversation does not end');
}

const user = (content: string): Message => ({ role: 'user', content });
const calls = (messages: Message[]) =>
  messages.flatMap((message) =>
    message.role === 'assistant' ? message.content.filter((part) => part.type === 'tool_call') : [],
  );
const commands = (messages: Message[]) => calls(messages).map((call) => JSON.parse(call.arguments).command);
const answer = (messages: Message[]) => {
  const last = messages.at(-1);
  return last?.role === 'assistant'
    ? last.content.map((part) => ('text' in part ? part.text : '')).join('')
    : '';
};

test('runs one command per step, in order, and reports the output of each', async () => {
  const messages = await converse([user('do `ls` and `pwd`')]);
  expect(messages.map((message) => message.role)).toEqual([
    'user',
    'assistant',
    'tool',
    'assistant',
    'tool',
    'assistant',
  ]);
  expect(commands(messages)).toEqual(['ls', 'pwd']);
  expect(answer(messages)).toContain('`ls` printed:\n\n```\noutput 0\n```');
  expect(answer(messages)).toContain('`pwd` printed:\n\n```\noutput 1\n```');
});

test('every answer names the demo model and how to get a real one', async () => {
  for (const prompt of ['hello', 'do `ls`']) {
    const text = answer(await converse([user(prompt)]));
    expect(text).toMatch(/demo model/);
    for (const name of ['OPENAI_BASE_URL', 'OPENAI_API_KEY', 'TALARIA_MODEL']) expect(text).toContain(name);
  }
});

test('without commands it explains what it can do', async () => {
  const { text, finish } = await collect(model, { prompt: 'hello' });
  expect(text).toMatch(/put them in backticks/);
  expect(finish.reason).toBe('stop');
});

test('without the tool it says so instead of calling it', async () => {
  const { text, finish } = await collect(model, { prompt: '`ls`', tools: [] });
  expect(text).toMatch(/terminal tool is not available/);
  expect(finish.content).toHaveLength(1);
});

test('a command that is the name of a tool with arguments calls that tool', async () => {
  const weather = { name: 'getWeather', description: '', parameters: {} };
  const call = async (prompt: string, tools = [weather]) => {
    const { finish } = await collect(model, { prompt, tools });
    return calls([{ role: 'assistant', content: finish.content }]).map((made) => [made.tool, made.arguments]);
  };
  expect(await call('Ask `getWeather {"city": "Oslo"}`')).toEqual([['getWeather', '{"city": "Oslo"}']]);
  expect(await call('`getWeather {"city"}`')).toEqual([]);
  expect(await call('`getWeather`')).toEqual([]);
  const terminal = { ...weather, name: 'terminal' };
  expect(await call('`echo {"a": 1}`', [weather, terminal])).toEqual([
    ['terminal', '{"command":"echo {\\"a\\": 1}"}'],
  ]);
});

test('an answer with a requested format is the JSON in backticks, after the commands', async () => {
  const messages = [user('`ls`, then `{"a": 1}`')];
  const outputForm = { schema: {} };
  const { finish } = await collect(model, { messages, outputForm });
  const after = withResults(messages, finish.content, 'file');
  expect(commands(after)).toEqual(['ls']);
  expect((await collect(model, { messages: after, outputForm })).text).toBe('{"a": 1}');
});

test('a failed command and a missing result are reported as failed', async () => {
  const { finish } = await collect(model, { prompt: '`a`' });
  const [call] = calls([{ role: 'assistant', content: finish.content }]);
  const messages: Message[] = [user('`a`'), { role: 'assistant', content: finish.content }];
  const denied: Message = {
    role: 'tool',
    tool_call_id: call?.id ?? '',
    tool: 'terminal',
    output: 'no',
    is_error: true,
  };
  expect((await collect(model, { messages: [...messages, denied] })).text).toContain(
    '`a` failed:\n\n```\nno\n```',
  );
  expect((await collect(model, { messages })).text).toContain('There is no result.');
});

test('a later prompt starts over, and ids never repeat in a conversation', async () => {
  const first = await converse([user('`a` `b`')]);
  const second = await converse([...first, user('now `c`')]);
  expect(commands(second)).toEqual(['a', 'b', 'c']);
  const ids = calls(second).map((call) => call.id);
  expect(new Set(ids).size).toBe(3);
});

test('steering adds its commands to the end, and text without commands changes nothing', async () => {
  const messages = await converse([user('`a` `b`')], (step) =>
    step === 1 ? [user('also `c`'), user('hurry up')] : [],
  );
  expect(commands(messages)).toEqual(['a', 'b', 'c']);
});

test('the same conversation gives the same step, so a recovered run continues as before', async () => {
  const messages = (await converse([user('`a` `b`')])).slice(0, 3);
  const [one, two] = [await collect(model, { messages }), await collect(new DemoModel(), { messages })];
  expect(one.finish).toEqual(two.finish);
});

test('deltas are small and add up to the text', async () => {
  const { parts, text, finish } = await collect(model, { prompt: 'hello' });
  expect(parts.length).toBeGreaterThan(10);
  expect(finish.content).toEqual([{ type: 'text', text }]);
});

test('long output is shortened', async () => {
  const { finish } = await collect(model, { prompt: '`a`' });
  const messages = withResults([user('`a`')], finish.content, 'line\n'.repeat(1000));
  const { text } = await collect(model, { messages });
  expect(text).toMatch(/more characters/);
  expect(text.length).toBeLessThan(1500);
});

test('usage counts words', async () => {
  const { text, finish } = await collect(model, { prompt: 'one two three' });
  const words = text.split(/\s+/).filter(Boolean).length;
  expect(finish.usage).toEqual({ input_tokens: 3, output_tokens: words, total_tokens: 3 + words });
});

test('an abort ends it with a ModelError', async () => {
  const { error } = await collectFailure(model, { prompt: 'hello', signal: AbortSignal.abort() });
  expect(error.retryable).toBe(false);
});
