import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Message } from '../../journal/messages.ts';
import { afterCut, type Conversation, moveCut, omittedBy, tokensOf } from './cut.ts';
import { messageTokens } from './estimate-tokens.ts';

const user = (content: string): Message => ({ role: 'user', content });
const says = (text: string): Message => ({ role: 'assistant', content: [{ type: 'text', text }] });
const calls = (...ids: string[]): Message => ({
  role: 'assistant',
  content: ids.map((id) => ({ type: 'tool_call', id, tool: 'bash', arguments: '{}' })),
});
const result = (id: string, output = 'ok'): Message => ({
  role: 'tool',
  tool_call_id: id,
  tool: 'bash',
  output,
  is_error: false,
});
const isNote = ({ role, content }: Message & { content?: unknown }) =>
  role === 'user' && typeof content === 'string' && /^\[.*left out here/.test(content);

const texts = fc.string({ maxLength: 200 }).map((text) => `x${text}`);
/** A single message, or an assistant message with the results of its calls. */
const groups: fc.Arbitrary<Message[]> = fc.oneof(
  texts.map((text) => [user(text)]),
  texts.map((text) => [says(text)]),
  texts.map((text): Message[] => [{ role: 'system', content: text }]),
  fc.array(fc.tuple(fc.uuid(), texts), { minLength: 1, maxLength: 4 }).map((made) => {
    const ids = made.map(([id]) => id);
    return [calls(...ids), ...made.map(([id, output]) => result(id, output))];
  }),
);
/** Any messages that may come before, between and after the prompts of a run. */
const conversations: fc.Arbitrary<Conversation> = fc
  .tuple(
    fc.array(groups, { maxLength: 12 }),
    fc.array(fc.tuple(texts, fc.array(groups, { maxLength: 6 })), { minLength: 1, maxLength: 2 }),
    fc.nat({ max: 2 }),
  )
  .map(([before, asked, skipped]) => {
    const messages = before.flat();
    const prompts = asked.map(([prompt, after]) => {
      const index = messages.push(user(prompt)) - 1;
      messages.push(...after.flat());
      return index;
    });
    return { messages, prompts, skipped };
  });
const limits = fc.integer({ min: 0, max: 2000 });

/** The furthest position a cut can have. */
const farthest = (conversation: Conversation) => moveCut(conversation, 0, 0);

function lastGroup({ messages }: Conversation): readonly Message[] {
  return messages.slice(messages.findLastIndex(({ role }) => role !== 'tool'));
}

/** For every conversation, limit and earlier cut. */
function holds(check: (conversation: Conversation, cut: number, limit: number) => void): void {
  fc.assert(
    fc.property(conversations, limits, limits, (conversation, earlierLimit, limit) => {
      const earlier = moveCut(conversation, 0, earlierLimit);
      check(conversation, moveCut(conversation, earlier, limit), limit);
    }),
  );
}

describe('for every conversation and limit', () => {
  test('every call that remains has its results, and every result its call', () => {
    holds((conversation, cut) => {
      const left = afterCut(conversation, cut);
      const open = new Set<string>();
      for (const message of left) {
        if (message.role === 'tool') expect(open.delete(message.tool_call_id)).toBe(true);
        else expect([...open]).toEqual([]);
        if (message.role !== 'assistant') continue;
        for (const part of message.content) if (part.type === 'tool_call') open.add(part.id);
      }
      expect([...open]).toEqual([]);
    });
  });

  test('the prompts, the last group and the system messages remain, in their order', () => {
    holds((conversation, cut) => {
      const left = afterCut(conversation, cut).filter((message) => !isNote(message));
      expect(left).toEqual(conversation.messages.filter((message) => left.includes(message)));
      expect(left).toEqual(
        expect.arrayContaining(conversation.prompts.map((index) => conversation.messages[index])),
      );
      expect(left).toEqual(expect.arrayContaining([...lastGroup(conversation)]));
      const system = ({ role }: Message) => role === 'system';
      expect(left.filter(system)).toEqual(conversation.messages.filter(system));
    });
  });

  test('apart from those, removed messages are older than remaining ones', () => {
    holds((conversation, cut) => {
      const { messages } = conversation;
      const left = afterCut(conversation, cut);
      expect(left.slice(left.length - (messages.length - cut))).toEqual(messages.slice(cut));
    });
  });

  test('the rest is short enough whenever that is possible, and else as short as possible', () => {
    holds((conversation, cut, limit) => {
      const shortest = tokensOf(afterCut(conversation, farthest(conversation)));
      const tokens = tokensOf(afterCut(conversation, cut));
      if (tokens > limit) expect(tokens).toBe(shortest);
    });
  });

  test('no message is removed that could have stayed', () => {
    const noteTokens = 40;
    fc.assert(
      fc.property(conversations, limits, (conversation, limit) => {
        const cut = moveCut(conversation, 0, limit);
        if (tokensOf(afterCut(conversation, 0)) <= limit) expect(cut).toBe(0);
        const before = conversation.messages.slice(0, cut);
        const lastToGo = before.findLastIndex(({ role }) => role !== 'tool');
        if (cut > 0) {
          expect(tokensOf(afterCut(conversation, lastToGo)) + noteTokens).toBeGreaterThan(limit);
        }
      }),
    );
  });

  test('cutting again changes nothing, also with more messages if there is room for them', () => {
    holds((conversation, cut, limit) => {
      expect(moveCut(conversation, cut, limit)).toBe(cut);
      const more = { ...conversation, messages: [...conversation.messages, user('more')] };
      expect(moveCut(more, cut, Number.POSITIVE_INFINITY)).toBe(cut);
      expect(afterCut(more, cut)).toEqual([...afterCut(conversation, cut), user('more')]);
    });
  });

  test('one line tells the model how many messages are missing, at the place where they are missing', () => {
    holds((conversation, cut) => {
      const omitted = omittedBy(conversation, cut);
      const left = afterCut(conversation, cut);
      const whole = conversation.messages.length + conversation.skipped;
      expect(left.length).toBe(whole - omitted + (omitted > 0 ? 1 : 0));
      expect(left.filter(isNote)).toHaveLength(omitted > 0 ? 1 : 0);
      if (omitted > 1) expect(JSON.stringify(left.find(isNote))).toContain(`[${omitted} earlier messages`);
    });
  });
});

test('examples of conversations after a cut', () => {
  const conversation = {
    messages: [
      user('old'),
      says('answer'),
      user('prompt'),
      calls('a', 'b'),
      result('a'),
      result('b'),
      says('now'),
    ],
    prompts: [2],
    skipped: 0,
  };
  const note = (what: string) =>
    user(`[${what} left out here: the conversation is longer than the model's context.]`);
  const [, , prompt, call, a, b, now] = conversation.messages;
  expect(afterCut(conversation, 1)).toEqual([
    note('One earlier message was'),
    ...conversation.messages.slice(1),
  ]);
  expect(afterCut(conversation, 2)).toEqual([note('2 earlier messages were'), prompt, call, a, b, now]);
  expect(afterCut(conversation, 6)).toEqual([prompt, note('5 earlier messages were'), now]);
  expect(farthest(conversation)).toBe(6);
  expect(afterCut({ ...conversation, skipped: 7 }, 0)).toEqual([
    note('7 earlier messages were'),
    ...conversation.messages,
  ]);
});

test('a prompt alone cannot be cut', () => {
  expect(moveCut({ messages: [user('x'.repeat(1000))], prompts: [0], skipped: 0 }, 0, 1)).toBe(0);
  expect(moveCut({ messages: [], prompts: [], skipped: 0 }, 0, 0)).toBe(0);
});

test('tokens are estimated by the bytes of the text, images at a fixed price unless they are huge', () => {
  expect(messageTokens(user('x'.repeat(400)))).toBe(104);
  expect(messageTokens(user('語'.repeat(400)))).toBe(304);
  const image = (length: number): Message => ({
    role: 'user',
    content: [{ type: 'image', url: `data:image/png;base64,${'A'.repeat(length)}` }],
  });
  expect(messageTokens(image(10))).toBe(messageTokens(image(200_000)));
  expect(messageTokens(image(4_000_000))).toBeGreaterThan(10 * messageTokens(image(10)));
});
