/** What reaches the model: instructions, history, input in all its forms, sessions (PROTOCOL.md). */
import { describe, expect, it } from 'vitest';
import type { ChatRequest } from '../support/model-server.ts';
import { textOf } from '../support/model-server-script.ts';
import { apiOf, type GetTarget, HeldRun, modelRequest, say, uniqueName } from './target.ts';

export function describeContext(target: GetTarget): void {
  const api = () => apiOf(target());

  /** The conversation that the model got for this prompt, as [role, text]. */
  const conversation = async (prompt: string): Promise<[string, string][]> =>
    messagesOf((await modelRequest(target(), prompt)).body);

  async function runToEnd(input: unknown, fields: Record<string, unknown> = {}): Promise<string> {
    const runId = await api().create(input, fields);
    expect(await api().finish(runId)).toMatchObject({ event: 'run.completed' });
    return runId;
  }

  describe('the model gets', () => {
    it('the prompt as its last message, after the system prompt', async () => {
      const prompt = say('plain');
      await runToEnd(prompt);
      const messages = await conversation(prompt);
      expect(messages.map(([role]) => role)).toEqual(['system', 'user']);
      expect(messages.at(-1)).toEqual(['user', prompt]);
    });

    it('the instructions added to its own system prompt', async () => {
      const [plain, instructed] = [say('plain'), say('instructed')];
      await runToEnd(plain);
      await runToEnd(instructed, { instructions: 'Answer in Esperanto.' });
      const own = (await conversation(plain))[0]![1];
      const layered = (await conversation(instructed))[0]![1];
      expect(layered).toContain(own);
      expect(layered).toContain('Answer in Esperanto.');
    });

    it('the conversation history before the prompt, in order', async () => {
      const prompt = say('with history');
      const conversation_history = [
        { role: 'user', content: 'My name is Ada.' },
        { role: 'assistant', content: 'Hello Ada.' },
      ];
      await runToEnd(prompt, { conversation_history });
      expect((await conversation(prompt)).slice(1)).toEqual([
        ['user', 'My name is Ada.'],
        ['assistant', 'Hello Ada.'],
        ['user', prompt],
      ]);
    });

    it('the last message of an input array as the prompt and the earlier ones as history', async () => {
      const prompt = say('array');
      await runToEnd([
        { role: 'user', content: 'earlier question' },
        { role: 'assistant', content: 'earlier answer' },
        { role: 'user', content: [{ type: 'input_text', text: prompt }] },
      ]);
      expect((await conversation(prompt)).slice(1)).toEqual([
        ['user', 'earlier question'],
        ['assistant', 'earlier answer'],
        ['user', prompt],
      ]);
    });

    it('the history field rather than the earlier messages of the input, when both are present', async () => {
      const prompt = say('both');
      await runToEnd(
        [
          { role: 'user', content: 'from the input' },
          { role: 'user', content: prompt },
        ],
        { conversation_history: [{ role: 'user', content: 'from the field' }] },
      );
      expect((await conversation(prompt)).slice(1)).toEqual([
        ['user', 'from the field'],
        ['user', prompt],
      ]);
    });

    it('text in any script, unchanged', async () => {
      const prompt = `${say('unicode')}\nЖ 日本語 🏳️‍🌈 \u0000 \u2028 </script> \\n "`;
      await runToEnd(prompt);
      expect((await conversation(prompt)).at(-1)).toEqual(['user', prompt]);
    });
  });

  describe('an unknown previous_response_id', () => {
    it('is ignored', async () => {
      const prompt = say('unknown response');
      await runToEnd(prompt, { previous_response_id: 'resp_0000000000000000000000000000' });
      expect((await conversation(prompt)).slice(1)).toEqual([['user', prompt]]);
    });
  });

  describe('other fields', () => {
    it('do not matter: an unknown model or field is accepted', async () => {
      const runId = await runToEnd(say('fields'), { model: 'no-such-model', temperature: 2, metadata: {} });
      const plain = await runToEnd(say('plain'));
      expect((await api().run(runId)).model).toBe((await api().run(plain)).model);
    });

    it('that are null count as absent', async () => {
      const nothing = { instructions: null, conversation_history: null, session_id: null };
      const runId = await runToEnd(say('nulls'), { ...nothing, previous_response_id: null });
      expect((await api().run(runId)).session_id).toBe(runId);
    });
  });

  describe('a session', () => {
    it("is echoed by the poll, and is the run's id when none is named", async () => {
      const session_id = uniqueName('session');
      expect((await api().run(await runToEnd(say('a'), { session_id }))).session_id).toBe(session_id);
      const runId = await runToEnd(say('b'));
      expect((await api().run(runId)).session_id).toBe(runId);
    });

    it('works on one run at a time; the second sees the first and its answer', async () => {
      const session_id = uniqueName('session');
      await using first = await HeldRun.start(target(), [{ text: 'the first answer' }], { session_id });
      const prompt = say('the second answer');
      const second = await api().create(prompt, { session_id });
      await using other = await HeldRun.start(target());
      expect((await api().run(other.runId)).status, 'other sessions go on').toBe('running');
      expect((await api().run(second)).status).toBe('started');
      first.release();
      expect(await api().finish(second)).toMatchObject({ output: 'the second answer' });
      const texts = (await conversation(prompt)).slice(1).map(([role, text]) => `${role}: ${text}`);
      expect(texts).toHaveLength(3);
      expect(texts[1]).toBe('assistant: the first answer');
      expect(texts[2]).toBe(`user: ${prompt}`);
      const [one, two] = [await api().run(first.runId), await api().run(second)];
      expect(two.updated_at).toBeGreaterThanOrEqual(one.updated_at);
    });

    it('grows with every run', async () => {
      const session_id = uniqueName('session');
      const prompts = [say('one'), say('two'), say('three')];
      for (const prompt of prompts) await runToEnd(prompt, { session_id });
      const answers = (await conversation(prompts[2]!)).filter(([role]) => role === 'assistant');
      expect(answers.map(([, text]) => text)).toEqual(['one', 'two']);
    });

    it('gives no transcript to a run that brings its own history', async () => {
      const session_id = uniqueName('session');
      await runToEnd(say('stored'), { session_id });
      const prompt = say('own');
      await runToEnd(prompt, { session_id, conversation_history: [{ role: 'user', content: 'mine' }] });
      expect((await conversation(prompt)).slice(1)).toEqual([
        ['user', 'mine'],
        ['user', prompt],
      ]);
    });
  });
}

function messagesOf({ messages }: ChatRequest): [string, string][] {
  return messages.map((message) => [message.role, textOf(message)]);
}
