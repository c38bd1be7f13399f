/** Conversations: sessions that clients make and add to without a run (conversations.ts). */
import { describe, expect, it } from 'vitest';
import type { Subject } from '../journal.contract.ts';
import type { Message } from '../messages.ts';
import { claimedRun, completed } from '../testing/records.ts';

const said = (text: string): Message => ({ role: 'user', content: text });
const refusedWith = (code: string) => expect.objectContaining({ code });

export function conversationsContract(subject: Subject): void {
  const conversations = () => subject.journal.conversations;
  const create = (conversationId: string, messages: Message[] = [], owner = 'ada') =>
    conversations().create({ owner, conversationId, metadata: { topic: 'snow' }, messages });
  const texts = async (conversationId: string, owner = 'ada'): Promise<unknown[]> => {
    const { contextFrom: from, nextPos: to } = (await conversations().get(owner, conversationId))!;
    const stored = await subject.journal.sessions.messages(owner, conversationId, { from, to });
    return stored.map(({ message }) => message.role === 'user' && message.content);
  };

  describe('a conversation', () => {
    it('is a session of one owner from the beginning', async () => {
      await create('conv_1', [said('a'), said('b')]);
      expect(await conversations().get('ada', 'conv_1')).toEqual({
        conversationId: 'conv_1',
        createdAt: expect.any(Number),
        metadata: { topic: 'snow' },
        contextFrom: 0,
        nextPos: 2,
      });
      expect(await texts('conv_1')).toEqual(['a', 'b']);
      expect(await subject.journal.sessions.get('ada', 'conv_1')).toMatchObject({
        nextPos: 2,
        turns: 1,
        lastRunId: null,
      });
      expect(await conversations().get('eve', 'conv_1')).toBeUndefined();
      await create('conv_1', [], 'eve');
      expect(await texts('conv_1', 'eve')).toEqual([]);
    });

    it('cannot be created twice', async () => {
      await create('conv_1', [said('a')]);
      await expect(create('conv_1', [said('b')])).rejects.toEqual(refusedWith('session_exists'));
      expect(await texts('conv_1')).toEqual(['a']);
    });

    it('accepts new metadata, also when a run created its session', async () => {
      await create('conv_1');
      await conversations().describe('ada', 'conv_1', { topic: 'sun' });
      expect(await conversations().get('ada', 'conv_1')).toMatchObject({ metadata: { topic: 'sun' } });
      const claim = await claimedRun(subject.journal, { sessionId: 's' });
      expect(await conversations().get('ada', 's')).toMatchObject({ metadata: {} });
      await conversations().describe('ada', 's', { by: 'run' });
      await subject.journal.append(claim, [completed()], {
        turn: { messages: [said('c')], replaces: false },
      });
      expect(await conversations().get('ada', 's')).toMatchObject({ metadata: { by: 'run' }, nextPos: 1 });
      await expect(conversations().describe('ada', 'none', {})).rejects.toEqual(
        refusedWith('session_not_found'),
      );
    });

    it('accepts added messages, and a replacement for the earlier ones', async () => {
      await create('conv_1', [said('a')]);
      const more = { messages: [said('b'), said('c')], replaces: false };
      await conversations().add('ada', 'conv_1', more, 1);
      expect(await texts('conv_1')).toEqual(['a', 'b', 'c']);
      await conversations().add('ada', 'conv_1', { messages: [said('a'), said('c')], replaces: true }, 3);
      expect(await texts('conv_1')).toEqual(['a', 'c']);
      await conversations().add('ada', 'conv_1', { messages: [], replaces: true }, 5);
      expect(await texts('conv_1')).toEqual([]);
    });

    it('does not come back in a fork after everything was removed', async () => {
      const fork = async (into: string, upTo?: number) => {
        await subject.journal.sessions.fork({ owner: 'ada', from: 'conv_1', into, upTo });
        return texts(into);
      };
      await create('conv_1', [said('a'), said('b')]);
      await conversations().add('ada', 'conv_1', { messages: [], replaces: true }, 2);
      expect(await fork('empty')).toEqual([]);
      await conversations().add('ada', 'conv_1', { messages: [said('c')], replaces: false }, 2);
      await conversations().add('ada', 'conv_1', { messages: [said('d')], replaces: false }, 3);
      expect(await fork('whole')).toEqual(['c', 'd']);
      expect(await fork('part', 3)).toEqual(['c']);
      expect(await fork('before', 2)).toEqual(['a', 'b']);
    });

    it('refuses an addition from a client that does not know the last messages', async () => {
      await create('conv_1', [said('a')]);
      const turn = { messages: [said('b')], replaces: false };
      await expect(conversations().add('ada', 'conv_1', turn, 0)).rejects.toEqual(
        refusedWith('session_active_turn'),
      );
      await expect(conversations().add('eve', 'conv_1', turn, 1)).rejects.toEqual(
        refusedWith('session_not_found'),
      );
      const both = [1, 1].map((pos) => conversations().add('ada', 'conv_1', turn, pos));
      const outcomes = (await Promise.allSettled(both)).map(({ status }) => status);
      expect(outcomes.toSorted()).toEqual(['fulfilled', 'rejected']);
      expect(await texts('conv_1')).toEqual(['a', 'b']);
    });

    it('is deleted with its session, and survives a restart', async () => {
      await create('conv_1', [said('a')]);
      await create('conv_2');
      await subject.journal.sessions.delete('ada', 'conv_1');
      expect(await conversations().get('ada', 'conv_1')).toBeUndefined();
      await create('conv_1');
      const { conversations: reopened } = await subject.reopen();
      expect(await reopened.get('ada', 'conv_2')).toMatchObject({ metadata: { topic: 'snow' } });
      expect(await reopened.get('ada', 'conv_1')).toMatchObject({ nextPos: 0 });
    });
  });
}
