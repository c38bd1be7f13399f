/** `POST /v1/completions`: OpenAI's older dialect (PROTOCOL.md). */
import type { Completion } from '@talaria/protocol';
import { CompletionSchema } from '@talaria/protocol/schemas';
import { describe, expect, it } from 'vitest';
import { script } from '../support/model-server.ts';
import { postStream } from '../support/posted-stream.ts';
import { expectError, expectShape } from './checked-api.ts';
import { apiOf, type GetTarget, say, terminal, uniqueName } from './target.ts';

const PATH = '/v1/completions';

export function describeCompletions(target: GetTarget): void {
  const api = () => apiOf(target());
  const post = (body: unknown, headers: Record<string, string> = {}) =>
    api().post<Completion>(PATH, body, headers);

  async function stream(body: object) {
    const { frames, status, clean } = await postStream(api(), PATH, { ...body, stream: true });
    expect({ status, clean }).toEqual({ status: 200, clean: true });
    expect(frames.map(({ event }) => event).join('')).toBe('');
    expect(frames.at(-1)?.data).toBe('[DONE]');
    const chunks = frames.slice(0, -1).map(({ data }) => JSON.parse(data) as Completion);
    for (const chunk of chunks) expectShape(CompletionSchema, chunk);
    return { chunks, text: chunks.map(({ choices }) => choices[0]!.text).join('') };
  }

  describe('a text completion', () => {
    it.each([
      ['a text', (prompt: string) => prompt],
      ['a list of one', (prompt: string) => [prompt]],
    ])('answers %s without streaming', async (_, wrap) => {
      const { status, body, headers } = await post({
        prompt: wrap(say('four')),
        model: 'any',
        max_tokens: 5,
      });
      expect(status).toBe(200);
      expect(body).toMatchObject({
        id: expect.stringMatching(/^cmpl-[0-9a-f]{29}$/),
        object: 'text_completion',
        model: 'any',
        choices: [{ text: 'four', index: 0, logprobs: null, finish_reason: 'stop' }],
        usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
      });
      expect(await api().run(headers.get('x-talaria-run-id')!)).toMatchObject({ output: 'four' });
    });

    it('is streamed in the same shape, with the usage at its end', async () => {
      const prompt = script([{ text: 'I look.', tools: [terminal('echo hi')] }, { chunks: ['I ', 'see.'] }]);
      const { chunks, text } = await stream({ prompt });
      expect(text).toBe('I look.\n\nI see.');
      expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
      expect(chunks.slice(0, -1).every(({ choices }) => choices[0]!.finish_reason === null)).toBe(true);
      expect(chunks.at(-1)).toMatchObject({
        choices: [{ text: '', finish_reason: 'stop' }],
        usage: { total_tokens: 30 },
      });
    });

    it('begins with the prompt on request', async () => {
      const prompt = say(' four');
      expect((await post({ prompt, echo: true })).body.choices[0]!.text).toBe(`${prompt} four`);
      expect((await stream({ prompt, echo: true })).text).toBe(`${prompt} four`);
    });

    it('that fails ends its stream with a reason that no client mistakes for an answer', async () => {
      const prompt = script([{ error: { status: 400, message: 'No such thing' } }]);
      const { chunks } = await stream({ prompt });
      expect(chunks.at(-1)).toMatchObject({
        choices: [{ text: '', finish_reason: 'error' }],
        error: { message: expect.any(String), code: 'provider_bad_request' },
      });
      const { status, body } = await post({ prompt });
      expect(status).toBeGreaterThanOrEqual(400);
      expect(body).toMatchObject({ error: { code: 'provider_bad_request' } });
    });

    it('with an Idempotency-Key gets the same run again', async () => {
      const headers = { 'idempotency-key': uniqueName('key') };
      const body = { prompt: say('once') };
      expect((await post(body, headers)).body).toEqual((await post(body, headers)).body);
    });

    it.each<[string, object, string]>([
      ['no prompt', {}, 'missing_input'],
      ['several prompts', { prompt: ['a', 'b'] }, 'invalid_request'],
      ['tokens', { prompt: [1, 2, 3] }, 'invalid_request'],
      ['several answers', { prompt: 'x', n: 2 }, 'invalid_request'],
      ['a suffix', { prompt: 'x', suffix: 'y' }, 'invalid_request'],
    ])('is refused with %s', async (_, body, code) => {
      expectError(await post(body), { status: 400, code });
    });
  });
}
