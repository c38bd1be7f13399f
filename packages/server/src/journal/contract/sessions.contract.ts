/** Sessions: transcripts that outlive their runs (sessions.ts). */
import { createRunId } from '@talaria/protocol';
import { describe, expect, it } from 'vitest';
import type { Subject } from '../journal.contract.ts';
import { LeaseLostError, type NewRun } from '../journal.ts';
import type { Message } from '../messages.ts';
import type { Turn } from '../sessions.ts';
import {
  approvalRequest,
  claimedRun,
  completed,
  counting,
  createRun,
  evictExpired,
  failed,
  finishedRun,
  LEASE_MS,
  NO_LIMIT,
  newRun,
} from '../testing/records.ts';

const HOUR_MS = 3600 * 1000;

const said = (text: string): Message => ({ role: 'user', content: text });
const turn = (...texts: string[]): Turn => ({ messages: texts.map(said), replaces: false });

/** The fields of a session that nobody has set. */
const UNTOLD = {
  forkedFrom: null,
  title: null,
  systemPrompt: null,
  source: null,
  model: null,
  preview: null,
  endedAt: null,
  endReason: null,
  pinned: false,
  archived: false,
  hidden: false,
  unread: false,
  toolCalls: 0,
  inputTokens: 0,
  outputTokens: 0,
};

export function sessionsContract(subject: Subject): void {
  const { itTimed } = subject;
  const get = (sessionId: string, owner = 'ada') => subject.journal.sessions.get(owner, sessionId);

  /** A completed run of session `s` that adds these messages; its id. */
  async function addTurn(added: Turn, run: Partial<NewRun> = {}): Promise<string> {
    const { journal } = subject;
    const claim = await claimedRun(journal, { sessionId: 's', ...run });
    await journal.append(claim, [completed()], { turn: added });
    return claim.runId;
  }

  async function texts(sessionId: string, owner = 'ada'): Promise<unknown[]> {
    const stored = await subject.journal.sessions.messages(owner, sessionId, { from: 0 });
    expect(stored.map(({ pos }) => pos)).toEqual(counting(stored.length));
    return stored.map(({ message }) => message.role === 'user' && message.content);
  }

  async function list(owner = 'ada'): Promise<string[]> {
    const { sessions } = await subject.journal.sessions.list({ owner, limit: 100 });
    return sessions.map(({ sessionId }) => sessionId);
  }

  describe('a session', () => {
    it('exists from the first run that names it; a run that names none creates none', async () => {
      const { journal, clock } = subject;
      await createRun(journal);
      expect(await list()).toEqual([]);
      const runId = await createRun(journal, { sessionId: 's' });
      const session = await get('s');
      expect(session).toEqual({
        sessionId: 's',
        createdAt: expect.any(Number),
        usedAt: session?.createdAt,
        nextPos: 0,
        contextFrom: 0,
        turns: 0,
        lastRunId: runId,
        ...UNTOLD,
      });
      if (subject.itTimed === it) expect(session?.createdAt).toBe(clock.now());
    });

    it('does not exist when its run was refused', async () => {
      const { journal } = subject;
      const run = newRun({ sessionId: 's' });
      expect(await journal.createRun(run, { maxQueued: 0, ownerShare: 0 })).toMatchObject({
        kind: 'queue_full',
      });
      expect(await get('s')).toBeUndefined();
    });

    it('is not used by a replay of a request', async () => {
      const { journal } = subject;
      const idempotency = { key: 'k', bodyHash: 'b' };
      const first = await createRun(journal, { sessionId: 's', idempotency });
      await journal.createRun(newRun({ sessionId: 's', idempotency }), NO_LIMIT);
      expect((await get('s'))?.lastRunId).toBe(first);
    });

    it('belongs to its owner: the same name under another is another session', async () => {
      await addTurn(turn('of ada'));
      await addTurn(turn('of bob'), { owner: 'bob' });
      expect(await texts('s')).toEqual(['of ada']);
      expect(await texts('s', 'bob')).toEqual(['of bob']);
      expect(await texts('s', 'eve')).toEqual([]);
      expect(await get('s', 'eve')).toBeUndefined();
    });
  });

  describe('a turn', () => {
    it('joins the transcript with the end of its run, in order', async () => {
      const first = await addTurn(turn('a', 'b'));
      const second = await addTurn(turn('c'));
      expect(await get('s')).toMatchObject({ nextPos: 3, contextFrom: 0, turns: 2, lastRunId: second });
      const stored = await subject.journal.sessions.messages('ada', 's', { from: 0 });
      expect(stored.map(({ pos, runId }) => [pos, runId])).toEqual([
        [0, first],
        [1, first],
        [2, second],
      ]);
      expect(await texts('s')).toEqual(['a', 'b', 'c']);
    });

    it('keeps every kind of message as it was', async () => {
      const messages: Message[] = [
        { role: 'system', content: 'rules' },
        { role: 'user', content: [{ type: 'image', url: 'data:image/png;base64,AA==' }] },
        {
          role: 'assistant',
          content: [
            { type: 'reasoning', text: 'hm', metadata: { provider: { signature: 'x' } } },
            { type: 'tool_call', id: 'call_1', tool: 'bash', arguments: '{"command":"ls"' },
          ],
        },
        {
          role: 'tool',
          tool_call_id: 'call_1',
          tool: 'bash',
          output: 'Ж\u0000\u2028\ud83c\udff3',
          is_error: true,
        },
      ];
      await addTurn({ messages, replaces: false });
      const stored = await subject.journal.sessions.messages('ada', 's', { from: 0 });
      expect(stored.map(({ message }) => message)).toEqual(messages);
    });

    it('with its own history leaves earlier messages readable, but not as context', async () => {
      await addTurn(turn('a', 'b'));
      await addTurn({ ...turn('given', 'c'), replaces: true });
      expect(await get('s')).toMatchObject({ nextPos: 4, contextFrom: 2, turns: 2 });
      await addTurn(turn('d'));
      expect(await get('s')).toMatchObject({ nextPos: 5, contextFrom: 2 });
      expect(await texts('s')).toEqual(['a', 'b', 'given', 'c', 'd']);
    });

    it('from a stale owner adds nothing', async () => {
      const { journal } = subject;
      const claim = await claimedRun(journal, { sessionId: 's' });
      const stale = { ...claim, epoch: claim.epoch - 1 };
      await expect(journal.append(stale, [completed()], { turn: turn('a') })).rejects.toThrow(LeaseLostError);
      expect(await get('s')).toMatchObject({ nextPos: 0, turns: 0 });
    });

    it('adds nothing while a post is unseen, and joins once after it was seen', async () => {
      const { journal } = subject;
      const claim = await claimedRun(journal, { sessionId: 's' });
      const [steer] = await journal.post(claim.runId, { kind: 'steer', input: 'left' });
      await expect(journal.append(claim, [completed()], { turn: turn('a') })).rejects.toThrow();
      expect(await texts('s')).toEqual([]);
      await journal.append(claim, [completed()], { turn: turn('a'), seenPostedPos: steer!.pos });
      expect(await texts('s')).toEqual(['a']);
    });

    it('outlives its run and the process', async () => {
      await addTurn(turn('a'));
      await evictExpired(subject.journal, 0, 10);
      const before = await get('s');
      const journal = await subject.reopen();
      expect(await journal.sessions.get('ada', 's')).toEqual(before);
      expect(await journal.sessions.messages('ada', 's', { from: 0 })).toMatchObject([
        { pos: 0, message: said('a') },
      ]);
    });
  });

  describe('messages are read', () => {
    const some = async (range: object) =>
      (await subject.journal.sessions.messages('ada', 's', { from: 0, ...range })).map(({ pos }) => pos);

    it('by range, count and size', async () => {
      await addTurn(turn('a', 'b', 'c', 'd', 'e'));
      expect(await some({ from: 2 })).toEqual([2, 3, 4]);
      expect(await some({ from: 1, to: 3 })).toEqual([1, 2]);
      expect(await some({ from: 1, limit: 2 })).toEqual([1, 2]);
      expect(await some({ from: 1, maxChars: 1 })).toEqual([1]);
      expect(await some({ from: 5 })).toEqual([]);
      expect(await some({ from: 3, to: 3 })).toEqual([]);
    });
  });

  describe('the listing', () => {
    it('has the most recently used first: by a new run, or by a turn that joined', async () => {
      const { journal } = subject;
      const claim = await claimedRun(journal, { sessionId: 'a' });
      await createRun(journal, { sessionId: 'b' });
      await createRun(journal, { sessionId: 'c', owner: 'bob' });
      expect(await list()).toEqual(['b', 'a']);
      await journal.append(claim, [completed()], { turn: turn('x') });
      expect(await list()).toEqual(['a', 'b']);
      await createRun(journal, { sessionId: 'b' });
      expect(await list()).toEqual(['b', 'a']);
      expect(await list('bob')).toEqual(['c']);
    });

    it('comes page by page, and a cursor is valid for this owner and listing only', async () => {
      const { journal } = subject;
      const names = counting(7).map((i) => `s${i}`);
      for (const sessionId of names) await createRun(journal, { sessionId });
      const paged: string[] = [];
      let next: string | undefined;
      do {
        const page = await journal.sessions.list({ owner: 'ada', limit: 3, after: next });
        paged.push(...page.sessions.map(({ sessionId }) => sessionId));
        if (page.next !== undefined) {
          const invalid = { code: 'invalid_cursor' };
          const { next: after } = page;
          await expect(journal.sessions.list({ owner: 'bob', limit: 3, after })).rejects.toMatchObject(
            invalid,
          );
          await expect(journal.listRuns({ owner: 'ada', limit: 3, after })).rejects.toMatchObject(invalid);
        }
        next = page.next;
      } while (next !== undefined);
      expect(paged).toEqual(names.toReversed());
      expect((await journal.sessions.list({ owner: 'ada', limit: 7 })).next).toBeUndefined();
    });
  });

  describe('a fork', () => {
    it('starts with the same messages, and is independent afterwards', async () => {
      const { sessions } = subject.journal;
      await addTurn(turn('a', 'b'));
      await addTurn(turn('c'));
      const fork = await sessions.fork({ owner: 'ada', from: 's', into: 'f' });
      expect(fork).toMatchObject({ sessionId: 'f', nextPos: 3, turns: 2, lastRunId: null, forkedFrom: 's' });
      expect(await get('f')).toEqual(fork);
      await addTurn(turn('in s'));
      await addTurn(turn('in f'), { sessionId: 'f' });
      expect(await texts('s')).toEqual(['a', 'b', 'c', 'in s']);
      expect(await texts('f')).toEqual(['a', 'b', 'c', 'in f']);
    });

    it('up to a message has the context of that time', async () => {
      const { sessions } = subject.journal;
      await addTurn(turn('a'));
      await addTurn({ ...turn('given', 'b'), replaces: true });
      await addTurn(turn('c'));
      await addTurn({ ...turn('given again', 'd'), replaces: true });
      const contexts = [];
      for (const upTo of counting(7)) {
        const { nextPos, contextFrom } = await sessions.fork({
          owner: 'ada',
          from: 's',
          into: `${upTo}`,
          upTo,
        });
        contexts.push([contextFrom, nextPos]);
      }
      expect(contexts).toEqual([
        [0, 0],
        [0, 1],
        [1, 2],
        [1, 3],
        [1, 4],
        [4, 5],
        [4, 6],
      ]);
    });

    it('stays when the other one is deleted', async () => {
      const { sessions } = subject.journal;
      await addTurn(turn('a'));
      await sessions.fork({ owner: 'ada', from: 's', into: 'f' });
      await sessions.delete('ada', 's');
      expect(await texts('f')).toEqual(['a']);
    });

    it('is refused under a name that is taken, and for a session that does not exist', async () => {
      const { sessions } = subject.journal;
      await addTurn(turn('a'));
      await addTurn(turn('b'), { sessionId: 'taken' });
      const fork = (from: string, into: string, owner = 'ada') => sessions.fork({ owner, from, into });
      await expect(fork('s', 'taken')).rejects.toMatchObject({ code: 'session_exists' });
      await expect(fork('s', 's')).rejects.toMatchObject({ code: 'session_exists' });
      await expect(fork('unknown', 'f')).rejects.toMatchObject({ code: 'session_not_found' });
      await expect(fork('s', 'f', 'bob')).rejects.toMatchObject({ code: 'session_not_found' });
      expect((await list()).sort()).toEqual(['s', 'taken']);
    });
  });

  describe("the session of a run's fork", () => {
    const fork = async (of: string, upTo: number, owner = 'ada') => {
      const runId = createRunId();
      const request = { prompt: 'again', session_named: true };
      const run = { runId, owner, sessionId: runId, request, sessionFork: { runId: of, upTo } };
      return { runId, outcome: await subject.journal.createRun(run, NO_LIMIT) };
    };

    it('begins with the first messages of the session that the run is in, and develops on its own', async () => {
      const { sessions } = subject.journal;
      await sessions.create({
        owner: 'ada',
        sessionId: 's',
        title: 'Greetings',
        systemPrompt: 'Be brief.',
        source: null,
        model: null,
      });
      await addTurn(turn('a', 'b'));
      const second = await addTurn(turn('c'));
      const { runId, outcome } = await fork(second, 2);
      expect(outcome).toEqual({ kind: 'created' });
      expect(await get(runId)).toMatchObject({
        nextPos: 2,
        turns: 1,
        forkedFrom: 's',
        title: 'Greetings',
        systemPrompt: 'Be brief.',
        lastRunId: runId,
      });
      const [claim] = await subject.journal.claim('worker', LEASE_MS, 1);
      await subject.journal.append(claim!, [completed()], { turn: turn('d') });
      expect(await texts(runId)).toEqual(['a', 'b', 'd']);
      expect(await texts('s')).toEqual(['a', 'b', 'c']);
    });

    it('is made while the run is unfinished, and outlives it', async () => {
      const { journal } = subject;
      await addTurn(turn('a'));
      const claim = await claimedRun(journal, { sessionId: 's' });
      const { runId } = await fork(claim.runId, 1);
      await journal.append(claim, [failed()]);
      await evictExpired(journal, 0, 10);
      await journal.sessions.delete('ada', 's');
      expect(await texts(runId)).toEqual(['a']);
    });

    it('does not exist when the fork was refused', async () => {
      const { journal } = subject;
      const source = await addTurn(turn('a'));
      const [runId, request] = [createRunId(), { prompt: 'again', session_named: true }];
      const run = { runId, owner: 'ada', sessionId: runId, request, sessionFork: { runId: source, upTo: 1 } };
      await journal.createRun(run, { maxQueued: 0, ownerShare: 0 });
      expect(await list()).toEqual(['s']);
    });

    it('has nothing of a later session of the same name', async () => {
      const { journal } = subject;
      const source = await addTurn(turn('a'));
      await journal.sessions.delete('ada', 's');
      const session = { owner: 'ada', sessionId: 's', title: 'Other', systemPrompt: 'x', source: null };
      await journal.sessions.create({ ...session, model: null });
      await addTurn(turn('secret'));
      await expect(fork(source, 1)).rejects.toMatchObject({ code: 'session_not_found' });
      const { runId } = await fork(source, 0);
      expect(await get(runId)).toMatchObject({
        nextPos: 0,
        title: null,
        systemPrompt: null,
        forkedFrom: null,
      });
    });

    it("has nothing of another owner's session", async () => {
      const source = await addTurn(turn('a'), { owner: 'bob' });
      await expect(fork(source, 1)).rejects.toMatchObject({ code: 'session_not_found' });
    });
  });

  describe('deletion', () => {
    const remove = (sessionId: string, owner = 'ada') => subject.journal.sessions.delete(owner, sessionId);

    it('removes the transcript, so that a later session of that name begins with nothing', async () => {
      const { journal } = subject;
      await addTurn(turn('a'));
      await addTurn(turn('of bob'), { owner: 'bob' });
      await remove('s');
      expect(await get('s')).toBeUndefined();
      expect(await texts('s')).toEqual([]);
      const next = await createRun(journal, { sessionId: 's' });
      expect(await get('s')).toMatchObject({ nextPos: 0, turns: 0 });
      expect(await journal.previousTurn((await journal.getRun(next))!)).toBeUndefined();
      expect(await texts('s', 'bob')).toEqual(['of bob']);
    });

    it('removes the grants of the session', async () => {
      const { journal } = subject;
      const allowed = () => journal.approvals.allows('ada', 's', ['delete']);
      const claim = await claimedRun(journal, { sessionId: 's' });
      await journal.append(claim, [approvalRequest('a', ['delete'])]);
      const [answer] = await journal.post(claim.runId, { kind: 'approval', choice: 'session', all: false });
      await journal.append(claim, [completed()], { seenPostedPos: answer!.pos });
      expect(await allowed()).toBe(true);
      await remove('s');
      expect(await allowed()).toBe(false);
    });

    it('is refused while a run of the session is unfinished', async () => {
      const { journal } = subject;
      const claim = await claimedRun(journal, { sessionId: 's' });
      await expect(remove('s')).rejects.toMatchObject({ code: 'session_active_turn' });
      await journal.append(claim, [failed()]);
      await remove('s');
      expect(await get('s')).toBeUndefined();
    });

    it('is refused for a session that does not exist or belongs to another owner', async () => {
      await addTurn(turn('a'));
      await expect(remove('unknown')).rejects.toMatchObject({ code: 'session_not_found' });
      await expect(remove('s', 'bob')).rejects.toMatchObject({ code: 'session_not_found' });
      expect(await texts('s')).toEqual(['a']);
    });
  });

  it('grants of an unnamed run stay when its id became a session before it was evicted', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    await journal.append(claim, [approvalRequest('a', ['delete'])]);
    const [answer] = await journal.post(claim.runId, { kind: 'approval', choice: 'session', all: false });
    await journal.append(claim, [completed()], { seenPostedPos: answer!.pos });
    await finishedRun(journal, {
      sessionId: claim.runId,
      request: { prompt: 'go on', session_named: true },
    });
    await evictExpired(journal, 0, 10);
    expect(await journal.approvals.allows('ada', claim.runId, ['delete'])).toBe(true);
  });

  describe('the sweep', () => {
    itTimed('takes sessions that were unused for the time, the longest unused first', async () => {
      const { journal, clock } = subject;
      for (const sessionId of ['a', 'b', 'c']) {
        await addTurn(turn('x'), { sessionId });
        clock.advance(HOUR_MS);
      }
      await createRun(journal, { sessionId: 'a' });
      expect(await journal.sessions.sweep(3 * HOUR_MS, 10)).toBe(0);
      expect(await journal.sessions.sweep(HOUR_MS, 1)).toBe(1);
      expect(await list()).toEqual(['a', 'c']);
      expect(await journal.sessions.sweep(HOUR_MS, 10)).toBe(1);
      expect(await list()).toEqual(['a']);
    });

    itTimed('skips a session with an unfinished run, however long it was unused', async () => {
      const { journal, clock } = subject;
      const claim = await claimedRun(journal, { sessionId: 's' });
      clock.advance(1000 * HOUR_MS);
      expect(await journal.sessions.sweep(HOUR_MS, 10)).toBe(0);
      await journal.append(claim, [completed()], { turn: turn('a') });
      expect(await journal.sessions.sweep(HOUR_MS, 10)).toBe(0);
      clock.advance(HOUR_MS);
      expect(await journal.sessions.sweep(HOUR_MS, 10)).toBe(1);
      expect(await list()).toEqual([]);
    });
  });
}
