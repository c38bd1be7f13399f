/** Stored responses: continuing them, keeping them, and removing the oldest (responses.ts). */
import { toResponseId } from '@talaria/protocol';
import { describe, expect, it } from 'vitest';
import { sessionHolder } from '../contents.ts';
import type { Subject } from '../journal.contract.ts';
import type { NewRun } from '../journal.ts';
import type { Message } from '../messages.ts';
import type { NewResponse, ResponseSettings } from '../responses.ts';
import {
  checkpointOf,
  claimedRun,
  completed,
  evictExpired,
  failed,
  LEASE_MS,
  NO_LIMIT,
  newRun,
} from '../testing/records.ts';

const SETTINGS: ResponseSettings = {
  model: 'hermes-agent',
  previous_response_id: null,
  conversation: null,
  instructions: 'be brief',
  metadata: { order: '7' },
  truncation: 'auto',
  background: true,
  store: true,
  used: { temperature: 0.5 },
  tools: [{ name: 'get_weather', description: '', parameters: { type: 'object' } }],
  tool_choice: 'auto',
  parallel_tool_calls: true,
  output_form: null,
  tool_items: 'mcp_call',
  tells_approvals: false,
};

const said = (text: string): Message => ({ role: 'user', content: text });
const texts = (messages: readonly Message[]): unknown[] =>
  messages.map((message) => message.role === 'user' && message.content);

/** A run in its own session that is a response, unless told otherwise. */
function newResponse(response: Partial<NewResponse> = {}, run: Partial<NewRun> = {}): NewRun {
  const created = newRun(run);
  const sessionId = run.sessionId ?? `sess_${created.runId}`;
  return {
    ...created,
    sessionId,
    request: { prompt: 'hi', session_named: true },
    response: { responseId: toResponseId(created.runId), settings: SETTINGS, maxStored: 100, ...response },
  };
}

export function responsesContract(subject: Subject): void {
  const { itTimed } = subject;
  const get = (responseId: string, owner = 'ada') => subject.journal.responses.get(owner, responseId);
  /** The context of a run that continues it. */
  const context = async (responseId: string, owner = 'ada') => {
    const { sessionId, ...range } = await subject.journal.responses.context(owner, responseId);
    const messages = await subject.journal.sessions.messages(owner, sessionId, range);
    return texts(messages.map(({ message }) => message));
  };

  async function create(response: Partial<NewResponse> = {}, run: Partial<NewRun> = {}): Promise<string> {
    const created = newResponse(response, run);
    expect(await subject.journal.createRun(created, NO_LIMIT)).toEqual({ kind: 'created' });
    return created.response!.responseId;
  }

  /** Claims whatever waits and completes it with these messages. */
  async function complete(...added: string[]): Promise<void> {
    const [claim] = await subject.journal.claim('worker', LEASE_MS, 1);
    const turn = { messages: added.map(said), replaces: false };
    await subject.journal.append(claim!, [completed()], { turn });
  }

  /** A completed response that added these messages. */
  async function answer(
    added: string[],
    response: Partial<NewResponse> = {},
    run: Partial<NewRun> = {},
  ): Promise<string> {
    const responseId = await create(response, run);
    await complete(...added);
    return responseId;
  }

  const sessionOf = async (responseId: string) => (await get(responseId))!.sessionId;
  const refusedWith = (code: string) => expect.objectContaining({ code });

  describe('a response', () => {
    it('exists with its run, as it was requested', async () => {
      const run = newResponse();
      await subject.journal.createRun(run, NO_LIMIT);
      expect(await get(run.response!.responseId)).toEqual({
        responseId: toResponseId(run.runId),
        owner: 'ada',
        runId: run.runId,
        afterSeq: -1,
        sessionId: run.sessionId,
        createdAt: (await subject.journal.getRun(run.runId))!.createdAt,
        settings: SETTINGS,
        snapshot: null,
      });
    });

    it('does not exist for another owner', async () => {
      const responseId = await answer(['a']);
      expect(await get(responseId, 'eve')).toBeUndefined();
      await expect(context(responseId, 'eve')).rejects.toEqual(refusedWith('previous_response_not_found'));
      await expect(subject.journal.responses.delete('eve', responseId)).rejects.toEqual(
        refusedWith('response_not_found'),
      );
      const stolen = newResponse({ previous: responseId }, { owner: 'eve' });
      await expect(subject.journal.createRun(stolen, NO_LIMIT)).rejects.toEqual(
        refusedWith('previous_response_not_found'),
      );
    });

    it('does not exist when its run was refused', async () => {
      const run = newResponse();
      await subject.journal.createRun(run, { maxQueued: 0, ownerShare: 0 });
      expect(await get(run.response!.responseId)).toBeUndefined();
    });

    it('is not created again by a replay, which does not look for the previous response either', async () => {
      const first = await answer(['a']);
      const idempotency = { key: 'k', bodyHash: 'b' };
      const second = await create({ previous: first }, { idempotency });
      await complete('b');
      await subject.journal.responses.delete('ada', first);
      const again = newResponse({ previous: first }, { idempotency });
      expect(await subject.journal.createRun(again, NO_LIMIT)).toMatchObject({ kind: 'replayed' });
      expect(await get(again.response!.responseId)).toBeUndefined();
      expect(await get(second)).toBeDefined();
    });

    it('can be deleted when it is finished, and not before; its messages stay', async () => {
      const responseId = await create();
      await expect(subject.journal.responses.delete('ada', responseId)).rejects.toEqual(
        refusedWith('response_not_finished'),
      );
      await complete('a');
      const sessionId = await sessionOf(responseId);
      await subject.journal.responses.delete('ada', responseId);
      expect(await get(responseId)).toBeUndefined();
      expect(await subject.journal.sessions.get('ada', sessionId)).toMatchObject({ nextPos: 1 });
      await expect(subject.journal.responses.delete('ada', responseId)).rejects.toEqual(
        refusedWith('response_not_found'),
      );
    });

    it('outlives a restart', async () => {
      const responseId = await answer(['a']);
      const before = await get(responseId);
      const { responses } = await subject.reopen();
      expect(await responses.get('ada', responseId)).toEqual(before);
      expect(await responses.context('ada', responseId)).toEqual({
        sessionId: before!.sessionId,
        from: 0,
        to: 1,
      });
    });
  });

  describe('a run that continues a response', () => {
    it('gets the context of that response and what it added', async () => {
      const first = await answer(['a', 'b']);
      const second = await answer(['c'], { previous: first });
      expect(await context(first)).toEqual(['a', 'b']);
      expect(await context(second)).toEqual(['a', 'b', 'c']);
    });

    it('continues in its session when the response was its last turn, and creates no other', async () => {
      const first = await answer(['a']);
      const second = await answer(['b'], { previous: first });
      expect(await sessionOf(second)).toBe(await sessionOf(first));
      const { sessions } = await subject.journal.sessions.list({ owner: 'ada', limit: 10 });
      expect(sessions.map(({ sessionId }) => sessionId)).toEqual([await sessionOf(first)]);
    });

    it('branches off when the session has later messages, and leaves those alone', async () => {
      const first = await answer(['a']);
      const second = await answer(['b'], { previous: first });
      const branch = await answer(['c'], { previous: first });
      expect(await sessionOf(branch)).not.toBe(await sessionOf(first));
      expect(await context(branch)).toEqual(['a', 'c']);
      expect(await context(second)).toEqual(['a', 'b']);
      expect(await subject.journal.sessions.get('ada', await sessionOf(branch))).toMatchObject({
        forkedFrom: await sessionOf(first),
      });
    });

    it('branches off when a run is in progress there', async () => {
      const first = await answer(['a']);
      const waiting = await create({ previous: first });
      const branch = await create({ previous: first });
      expect(await sessionOf(waiting)).toBe(await sessionOf(first));
      expect(await sessionOf(branch)).not.toBe(await sessionOf(first));
    });

    it('branches off with the context of that time, not of now', async () => {
      const first = await answer(['a', 'b'], {}, { sessionId: 's' });
      const claim = await claimedRun(subject.journal, { sessionId: 's' });
      await subject.journal.append(claim, [completed()], {
        turn: { messages: [said('new')], replaces: true },
      });
      expect(await context(first)).toEqual(['a', 'b']);
      expect(await context(await answer(['c'], { previous: first }))).toEqual(['a', 'b', 'c']);
    });

    it('branches off with the files that it is told', async () => {
      const { journal } = subject;
      const [first, second] = ['a'.repeat(32), 'b'.repeat(32)] as const;
      const work = async (blobId: string) => {
        const [claim] = await journal.claim('worker', LEASE_MS, 1);
        const files = { run_id: claim!.runId, checkpoint: checkpointOf(1, blobId) };
        const sessionFiles = { files, blobIds: [blobId] };
        await journal.append(claim!, [completed()], {
          turn: { messages: [said(blobId)], replaces: false },
          blobs: [{ blobId, writtenAt: subject.clock.now() }],
          sessionFiles,
        });
        return sessionFiles;
      };
      const previous = await create({}, { sessionId: 's' });
      const earlier = await work(first);
      await create({ previous });
      await work(second);
      await create({ previous, forkedFiles: earlier }, { sessionId: 'then' });
      expect(await journal.sessions.files('ada', 'then')).toEqual(earlier.files);
      expect(await journal.contents.heldBy(sessionHolder('ada', 'then'))).toEqual([first]);
      expect(await journal.contents.heldBy(sessionHolder('ada', 's'))).toEqual([second]);
    });

    it('is refused when the response does not exist, and stores nothing', async () => {
      const run = newResponse({ previous: 'resp_unknown' });
      await expect(subject.journal.createRun(run, NO_LIMIT)).rejects.toEqual(
        expect.objectContaining({
          code: 'previous_response_not_found',
          message: 'Previous response not found: resp_unknown',
          param: 'previous_response_id',
        }),
      );
      expect(await subject.journal.getRun(run.runId)).toBeUndefined();
      expect(await subject.journal.sessions.get('ada', run.sessionId)).toBeUndefined();
    });

    it('is refused while the response is unfinished, and when it never completed', async () => {
      const responseId = await create();
      const goOn = () => subject.journal.createRun(newResponse({ previous: responseId }), NO_LIMIT);
      await expect(goOn()).rejects.toEqual(refusedWith('previous_response_not_completed'));
      const [claim] = await subject.journal.claim('worker', LEASE_MS, 1);
      await subject.journal.append(claim!, [failed()]);
      await expect(goOn()).rejects.toEqual(refusedWith('previous_response_not_completed'));
      await expect(context(responseId)).rejects.toEqual(refusedWith('previous_response_not_completed'));
    });

    it('is refused when the session is gone, also when another has its name', async () => {
      const responseId = await answer(['a'], {}, { sessionId: 's' });
      await subject.journal.sessions.delete('ada', 's');
      await answer(['other'], {}, { sessionId: 's' });
      const run = newResponse({ previous: responseId });
      await expect(subject.journal.createRun(run, NO_LIMIT)).rejects.toEqual(
        refusedWith('previous_response_not_found'),
      );
      await expect(context(responseId)).rejects.toEqual(refusedWith('previous_response_not_found'));
    });
  });

  describe('a run that waited for its client', () => {
    const NEXT = `resp_${'b'.repeat(28)}`;
    const next = (afterSeq: number, responseId = NEXT, maxStored = 100) => ({
      responseId,
      afterSeq,
      settings: { ...SETTINGS, metadata: { part: responseId } },
      input: `["${afterSeq}"]`,
      maxStored,
    });

    it('is several responses in order, of which only the last can be continued', async () => {
      const first = await create();
      const stored = (await get(first))!;
      await subject.journal.responses.add(stored, next(4));
      await complete('a', 'b');
      expect(await get(NEXT)).toMatchObject({
        runId: stored.runId,
        afterSeq: 4,
        sessionId: stored.sessionId,
        settings: { metadata: { part: NEXT } },
        snapshot: null,
      });
      expect(await subject.journal.responses.ofRun(stored.runId)).toEqual([stored, await get(NEXT)]);
      expect(await context(NEXT)).toEqual(['a', 'b']);
      await expect(context(first)).rejects.toEqual(refusedWith('previous_response_not_completed'));
      expect(await context(await answer(['c'], { previous: NEXT }))).toEqual(['a', 'b', 'c']);
    });

    it('can be continued through a response that was added after its end', async () => {
      const first = await answer(['a', 'b']);
      await subject.journal.responses.add((await get(first))!, next(4));
      expect(await context(NEXT)).toEqual(['a', 'b']);
      expect(await context(await answer(['c'], { previous: NEXT }))).toEqual(['a', 'b', 'c']);
    });

    it('returns the same response for the same part, as it was first requested', async () => {
      const stored = (await get(await create()))!;
      await subject.journal.responses.add(stored, next(4));
      const before = await get(NEXT);
      await subject.journal.responses.add(stored, { ...next(4), settings: SETTINGS });
      expect(await get(NEXT)).toEqual(before);
      expect(await subject.journal.responses.ofRun(stored.runId)).toHaveLength(2);
    });

    it('gets no further response when the one before it is gone', async () => {
      const responseId = await answer(['a']);
      const stored = (await get(responseId))!;
      await subject.journal.responses.delete('ada', responseId);
      await subject.journal.responses.add(stored, next(4));
      expect(await get(NEXT)).toBeUndefined();
    });

    it('counts each of its responses, and keeps them while it is unfinished', async () => {
      const old = await answer(['a']);
      const first = await create();
      await subject.journal.responses.add((await get(first))!, next(4, NEXT, 1));
      expect(await get(old)).toBeUndefined();
      expect(await get(first)).toBeDefined();
      expect(await get(NEXT)).toBeDefined();
    });

    it('keeps a snapshot of each', async () => {
      const first = await create();
      await subject.journal.responses.add((await get(first))!, next(4));
      await complete('a');
      await subject.journal.responses.keep(first, '{"part":1}');
      await subject.journal.responses.keep(NEXT, '{"part":2}');
      expect(await get(first)).toMatchObject({ snapshot: '{"part":1}' });
      expect(await get(NEXT)).toMatchObject({ snapshot: '{"part":2}' });
    });
  });

  describe('the input of a response', () => {
    const input = (responseId: string, owner = 'ada') => subject.journal.responses.input(owner, responseId);

    it('is stored with it, for its owner', async () => {
      const responseId = await create({ input: '["hi"]' });
      expect(await input(responseId)).toBe('["hi"]');
      expect(await input(responseId, 'eve')).toBeUndefined();
      expect(await input('resp_unknown')).toBeUndefined();
      expect(await input(await create())).toBeNull();
    });
  });

  describe('the bound', () => {
    it('removes the oldest finished one of the same owner', async () => {
      const [first, second] = [await answer(['a']), await answer(['b'])];
      const others = await answer(['c'], {}, { owner: 'bob' });
      const third = await create({ maxStored: 2 });
      expect(await get(first)).toBeUndefined();
      expect(await get(second)).toBeDefined();
      expect(await get(third)).toBeDefined();
      expect(await get(others, 'bob')).toBeDefined();
    });

    it('leaves unfinished ones alone', async () => {
      const waiting = await create();
      const [claim] = await subject.journal.claim('worker', LEASE_MS, 1);
      const finished = await answer(['a']);
      const last = await create({ maxStored: 1 });
      expect(await get(waiting)).toBeDefined();
      expect(await get(finished)).toBeUndefined();
      expect(await get(last)).toBeDefined();
      expect(await subject.journal.getRun(claim!.runId)).toBeDefined();
    });

    it('does not remove the response that the new one continues before it is continued', async () => {
      const first = await answer(['a']);
      const second = await answer(['b'], { previous: first, maxStored: 1 });
      expect(await get(first)).toBeUndefined();
      expect(await context(second)).toEqual(['a', 'b']);
    });
  });

  describe('a snapshot', () => {
    itTimed('is all that is left of a response when its run is evicted', async () => {
      const { journal, clock } = subject;
      const responseId = await answer(['a']);
      const { runId } = (await get(responseId))!;
      const other = await claimedRun(journal);
      await journal.append(other, [completed()]);
      clock.advance(1000);
      expect(await journal.responses.ofRun(runId)).toEqual([await get(responseId)]);
      expect(await journal.responses.ofRun(other.runId)).toEqual([]);
      await journal.responses.keep(responseId, '{"kept":true}');
      await evictExpired(journal, 1000, 10);
      expect(await journal.getRun(runId)).toBeUndefined();
      expect(await get(responseId)).toMatchObject({ runId, snapshot: '{"kept":true}' });
      expect(await context(responseId)).toEqual(['a']);
      expect(await context(await answer(['b'], { previous: responseId }))).toEqual(['a', 'b']);
    });

    it('is not stored for a response that is gone', async () => {
      const responseId = await answer(['a']);
      await subject.journal.responses.delete('ada', responseId);
      await subject.journal.responses.keep(responseId, '{}');
      expect(await get(responseId)).toBeUndefined();
    });
  });
}
