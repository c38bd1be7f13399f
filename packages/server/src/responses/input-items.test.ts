import { describe, expect, test } from 'vitest';
import { Secrets } from '../secrets/secrets.ts';
import { resolveInput, toInputItems } from './input-items.ts';

const [FIRST, SECOND] = [`resp_${'a'.repeat(28)}`, `resp_${'b'.repeat(28)}`];
const itemIn = (responseId: string, n: number, text = 'hi') => ({
  id: `msg_${responseId.slice('resp_'.length)}00000${n}`,
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text }],
});
const reference = ({ id }: { id: string }) => ({ type: 'item_reference', id });

/** The responses of one owner, which count how often they are read. */
function stored(...items: ReturnType<typeof itemIn>[]) {
  const reads: string[] = [];
  return {
    reads,
    conversations: { storedItems: async () => [] },
    itemsOf: async (owner: string, responseId: string) => {
      reads.push(responseId);
      return owner === 'ada' ? items.filter(({ id }) => id.includes(responseId.slice('resp_'.length))) : [];
    },
  };
}

describe('references to stored items', () => {
  const [one, two, three] = [itemIn(FIRST, 1), itemIn(FIRST, 2), itemIn(SECOND, 1)];

  test('are replaced in place, and each response is read once', async () => {
    const source = stored(one, two, three);
    const said = { role: 'user', content: 'and?' };
    const input = [reference(one), said, reference(three), reference(two), { id: one.id }];
    expect(await resolveInput(source, 'ada', input)).toEqual([one, said, three, two, one]);
    expect(source.reads).toEqual([FIRST, SECOND]);
  });

  test('are refused if the item does not exist or belongs to another key', async () => {
    const refused = expect.objectContaining({ code: 'invalid_request', param: 'input[1]' });
    const input = ['hi', reference(one)];
    await expect(resolveInput(stored(two), 'ada', input)).rejects.toEqual(refused);
    await expect(resolveInput(stored(one), 'eve', input)).rejects.toEqual(refused);
    await expect(resolveInput(stored(one), 'ada', ['hi', reference({ id: 'msg_1' })])).rejects.toEqual(
      refused,
    );
  });

  test('are refused if they stand for more than a request may have', async () => {
    const long = itemIn(FIRST, 1, 'x'.repeat(400));
    const input = [reference(long), reference(long)];
    expect(await resolveInput(stored(long), 'ada', input.slice(1), { maxChars: 1000 })).toEqual([long]);
    await expect(resolveInput(stored(long), 'ada', input, { maxChars: 1000 })).rejects.toMatchObject({
      code: 'body_too_large',
    });
  });
});

test('an item of an unknown type has an id like any other', () => {
  const input = JSON.stringify([{ type: 'constructor' }]);
  const [item] = toInputItems(FIRST, input, new Secrets([]));
  expect(item).toEqual({ id: `item_${'a'.repeat(28)}i000000`, type: 'constructor' });
});
