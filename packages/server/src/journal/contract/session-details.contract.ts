/** Created sessions, and the fields of a session (sessions.ts). */
import { describe, expect, it } from 'vitest';
import type { Subject } from '../journal.contract.ts';
import type { NewRun } from '../journal.ts';
import type { Message } from '../messages.ts';
import type { NewSession, SessionFilter, StoredSession, Turn } from '../sessions.ts';
import { claimedRun, completed, counting, createRun } from '../testing/records.ts';

const said = (text: string): Message => ({ role: 'user', content: text });
const result: Message = { role: 'tool', tool_call_id: 'c', tool: 't', output: '\0 \ud83c', is_error: false };
const turn = (...messages: Message[]): Turn => ({ messages, replaces: false });
const NEW: NewSession = {
  owner: 'ada',
  sessionId: 's',
  title: null,
  systemPrompt: null,
  source: null,
  model: null,
};

export function sessionDetailsContract(subject: Subject): void {
  const get = (sessionId = 's', owner = 'ada') => subject.journal.sessions.get(owner, sessionId);
  const create = (session: Partial<NewSession> = {}) =>
    subject.journal.sessions.create({ ...NEW, ...session });

  async function addTurn(added: Turn, run: Partial<NewRun> = {}): Promise<void> {
    const claim = await claimedRun(subject.journal, { sessionId: 's', ...run });
    await subject.journal.append(claim, [completed()], { turn: added });
  }

  async function list(filter: Partial<SessionFilter> = {}): Promise<string[]> {
    const { sessions } = await subject.journal.sessions.list({ owner: 'ada', limit: 100, ...filter });
    return sessions.map(({ sessionId }) => sessionId);
  }

  describe('a created session', () => {
    it('exists without a run, with its fields', async () => {
      const told = { title: 'Täglich', systemPrompt: 'Be brief.', source: 'cli', model: 'm' };
      const created = await create(told);
      expect(created).toMatchObject({
        ...told,
        sessionId: 's',
        nextPos: 0,
        turns: 0,
        lastRunId: null,
        usedAt: created.createdAt,
        endedAt: null,
      });
      expect(await get()).toEqual(created);
      const journal = await subject.reopen();
      expect(await journal.sessions.get('ada', 's')).toEqual(created);
    });

    it('is refused under a name that is taken, however that session came to exist', async () => {
      await create({ title: 'first' });
      await expect(create({ title: 'second' })).rejects.toMatchObject({ code: 'session_exists' });
      expect((await get())?.title).toBe('first');
      await createRun(subject.journal, { sessionId: 'run' });
      await expect(create({ sessionId: 'run' })).rejects.toMatchObject({ code: 'session_exists' });
      expect((await create({ owner: 'bob', title: 'of bob' })).title).toBe('of bob');
    });

    it('is created once when several ask for one name together', async () => {
      const made = await Promise.allSettled(counting(8).map((i) => create({ title: `${i}` })));
      expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    });

    it('is used by runs like any other, and keeps its fields', async () => {
      await create({ title: 'kept', systemPrompt: 'rules' });
      await addTurn(turn(said('a')));
      expect(await get()).toMatchObject({ title: 'kept', systemPrompt: 'rules', nextPos: 1, turns: 1 });
    });
  });

  describe('a change of a session', () => {
    const update = (...change: Parameters<typeof subject.journal.sessions.update>) =>
      subject.journal.sessions.update(...change);

    it('sets the given fields and leaves the others', async () => {
      const before = await create({ title: 'old', systemPrompt: 'rules' });
      const changed = await update('ada', 's', { title: 'new', pinned: true, unread: true });
      expect(changed).toEqual({ ...before, title: 'new', pinned: true, unread: true });
      expect(await get()).toEqual(changed);
      expect(await update('ada', 's', {})).toEqual(changed);
      expect(await update('ada', 's', { title: null, pinned: false, archived: true, hidden: true })).toEqual({
        ...changed,
        title: null,
        pinned: false,
        archived: true,
        hidden: true,
      });
    });

    it('does not move the session in the list', async () => {
      for (const sessionId of ['a', 'b']) await create({ sessionId });
      const { usedAt } = (await get('a'))!;
      expect((await update('ada', 'a', { title: 'x' })).usedAt).toBe(usedAt);
      expect(await list()).toEqual(['b', 'a']);
    });

    it('ends it, until it is reopened or a run is created in it', async () => {
      await create();
      const ended = await update('ada', 's', { endReason: 'user' });
      expect(ended).toMatchObject({ endReason: 'user', endedAt: expect.any(Number) });
      expect(ended.endedAt).toBeGreaterThanOrEqual(ended.createdAt);
      const open: Partial<StoredSession> = { endReason: null, endedAt: null };
      expect(await update('ada', 's', { endReason: null })).toMatchObject(open);
      await update('ada', 's', { endReason: 'again' });
      await createRun(subject.journal, { sessionId: 's' });
      expect(await get()).toMatchObject(open);
    });

    it('is refused for a session that does not exist or belongs to another owner', async () => {
      await create();
      const refusal = { code: 'session_not_found' };
      await expect(update('ada', 'unknown', { title: 'x' })).rejects.toMatchObject(refusal);
      await expect(update('bob', 's', { title: 'x' })).rejects.toMatchObject(refusal);
      expect((await get())?.title).toBeNull();
    });
  });

  describe('the counts of a session', () => {
    const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };

    it('are the calls and tokens of its turns, and its first message', async () => {
      await addTurn({ ...turn(said('first\0'), result, result), usage });
      await addTurn({ ...turn(said('second'), result), usage });
      expect(await get()).toMatchObject({
        preview: 'first',
        toolCalls: 3,
        inputTokens: 20,
        outputTokens: 10,
      });
    });

    it('take the text of a message with parts, and nothing if there is no user message', async () => {
      const content = [
        { type: 'image' as const, url: 'data:' },
        { type: 'text' as const, text: 'seen' },
      ];
      await addTurn(turn({ role: 'system', content: 'rules' }, { role: 'user', content }));
      expect((await get())?.preview?.trim()).toBe('seen');
      await addTurn(turn(result), { sessionId: 'silent' });
      await addTurn(turn(said('late')), { sessionId: 'silent' });
      expect((await get('silent'))?.preview).toBeNull();
    });

    it('start in a fork with its calls, and no tokens', async () => {
      await create({ title: 'old', systemPrompt: 'rules', source: 'cli', model: 'm' });
      await addTurn({ ...turn(said('first'), result, said('more'), result), usage });
      const { sessions } = subject.journal;
      const kept = { systemPrompt: 'rules', source: 'cli', model: 'm', inputTokens: 0, outputTokens: 0 };
      const whole = await sessions.fork({ owner: 'ada', from: 's', into: 'whole' });
      expect(whole).toMatchObject({ ...kept, title: 'old', toolCalls: 2, preview: 'first' });
      const part = await sessions.fork({ owner: 'ada', from: 's', into: 'part', upTo: 2, title: 'new' });
      expect(part).toMatchObject({ ...kept, title: 'new', toolCalls: 1, preview: 'first' });
      const none = await sessions.fork({ owner: 'ada', from: 's', into: 'none', upTo: 0, title: null });
      expect(none).toMatchObject({ ...kept, title: null, toolCalls: 0, preview: null });
    });
  });

  describe('the listing of sessions', () => {
    it('leaves out hidden ones by default', async () => {
      for (const sessionId of ['a', 'b']) await create({ sessionId });
      await subject.journal.sessions.update('ada', 'a', { hidden: true });
      expect(await list()).toEqual(['b']);
      expect(await list({ includeHidden: true })).toEqual(['b', 'a']);
    });

    it('can be filtered by title or source', async () => {
      await create({ sessionId: 'a', title: 'x' });
      await create({ sessionId: 'b', title: 'X', source: 'cli' });
      await create({ sessionId: 'c', title: 'x', source: 'api_server' });
      expect(await list({ title: 'x' })).toEqual(['c', 'a']);
      expect(await list({ source: 'cli' })).toEqual(['b']);
      expect(await list({ source: 'api_server' })).toEqual(['c', 'a']);
      expect(await list({ source: 'api_server', title: 'X' })).toEqual([]);
    });

    it('can skip the first ones', async () => {
      for (const i of counting(5)) await create({ sessionId: `${i}` });
      expect(await list({ offset: 2, limit: 2 })).toEqual(['2', '1']);
      expect(await list({ offset: 5 })).toEqual([]);
      const { next } = await subject.journal.sessions.list({ owner: 'ada', limit: 2, offset: 1 });
      expect(await list({ after: next, limit: 2 })).toEqual(['1', '0']);
    });
  });

  it('messages are read from the end, in order, by count and size', async () => {
    await addTurn(turn(...['a', 'b', 'c', 'd', 'e'].map(said)));
    const some = async (range: object) =>
      (await subject.journal.sessions.messages('ada', 's', { from: 0, latest: true, ...range })).map(
        ({ pos }) => pos,
      );
    expect(await some({ limit: 2 })).toEqual([3, 4]);
    expect(await some({ to: 4, limit: 2 })).toEqual([2, 3]);
    expect(await some({ maxChars: 1 })).toEqual([4]);
    expect(await some({})).toEqual([0, 1, 2, 3, 4]);
  });
}
