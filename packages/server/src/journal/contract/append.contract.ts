/** Appending: order without gaps, atomicity, fidelity. */
import { expect, it } from 'vitest';
import type { Subject } from '../journal.contract.ts';
import type { Lease } from '../journal.ts';
import type { LogRecord } from '../records.ts';
import { foldRecord, INITIAL_STATE } from '../run-state.ts';
import {
  claimedRun,
  completed,
  context,
  counting,
  createRun,
  delta,
  LEASE_MS,
  NO_LIMIT,
  names,
  newRun,
  privateStep,
  reasoning,
  step,
  toolCompleted,
  toolStarted,
  usage,
} from '../testing/records.ts';

export function appendContract(subject: Subject): void {
  const { itTimed } = subject;
  const events = (runId: string) => subject.journal.readEvents(runId, -1, 10_000);

  it('numbers all records by pos and the public ones by seq, and returns what it stored', async () => {
    const claim = await claimedRun(subject.journal);

    const first = await subject.journal.append(claim, [context(), reasoning('a'), context()]);
    const second = await subject.journal.append(claim, [reasoning('b')]);

    expect(first.map(({ pos, seq }) => [pos, seq])).toEqual([
      [2, null],
      [3, 0],
      [4, null],
    ]);
    expect(second.map(({ pos, seq }) => [pos, seq])).toEqual([[5, 1]]);
    expect(await subject.journal.readLog(claim.runId, 1)).toEqual([...first, ...second]);
    expect((await subject.journal.getRun(claim.runId))?.nextSeq).toBe(2);
  });

  it('keeps the numbers of a run that an earlier version began, whose steps were private', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    const records = await journal.append(claim, [reasoning(), privateStep(step()), reasoning(), step()]);
    expect(records.map(({ seq }) => seq)).toEqual([0, null, 1, 2]);
    expect(names(await events(claim.runId))).toEqual([
      'reasoning.available',
      'reasoning.available',
      'step.completed',
    ]);
    expect(await journal.readLog(claim.runId, 1)).toEqual(records);
    expect((await journal.getRun(claim.runId))?.state).toMatchObject({ steps: 2, usage: usage(4, 2) });
  });

  it('leaves no gap and no duplicate when many runs are appended and posted to at once', async () => {
    const { journal } = subject;
    const runIds: string[] = [];
    for (let i = 0; i < 6; i++) runIds.push(await createRun(journal));
    const claims = await journal.claim('w', LEASE_MS, 10);
    const written = new Map<string, LogRecord[]>(runIds.map((runId) => [runId, []]));
    const keep = (runId: string) => (records: LogRecord[]) => written.get(runId)!.push(...records);

    await Promise.all(
      counting(40).flatMap((i) =>
        claims.map((claim) => {
          const { runId } = claim;
          if (i % 4 === 3) return journal.post(runId, { kind: 'steer', input: String(i) }).then(keep(runId));
          return journal.append(claim, [delta(`${i}`), context(), reasoning(`${i}`)]).then(keep(runId));
        }),
      ),
    );

    for (const runId of runIds) {
      const records = written.get(runId)!.sort((a, b) => a.pos - b.pos);
      // The first two are those of the creation and the claim.
      expect(records.map(({ pos }) => pos)).toEqual(counting(30 * 3 + 10).map((i) => i + 2));
      const shown = records.filter(({ seq }) => seq !== null);
      expect(shown.map(({ seq }) => seq)).toEqual(counting(60));
      expect((await events(runId)).map(({ seq, event, at }) => ({ seq, event, at }))).toEqual(
        shown.map(({ seq, event, at }) => ({ seq, event, at })),
      );
    }
  });

  it('keeps the order of calls that do not wait for each other', async () => {
    const claim = await claimedRun(subject.journal);
    await Promise.all(counting(50).map((i) => subject.journal.append(claim, [delta(`${i}`)])));
    expect((await events(claim.runId)).map(({ payload }) => JSON.parse(payload).delta)).toEqual(
      counting(50).map(String),
    );
  });

  it('shows the records of a call together, with the state that they make', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    let done = false;
    const writing = Promise.all(
      counting(60).map(() => journal.append(claim, [toolStarted(), toolCompleted(), reasoning()])),
    ).finally(() => {
      done = true;
    });

    let looks = 0;
    while (!done) {
      const seen = await events(claim.runId);
      const run = await journal.getRun(claim.runId);
      expect(seen.length % 3).toBe(0);
      expect(run!.nextSeq % 3).toBe(0);
      expect(['', 'reasoning.available']).toContain(run!.state.last_event);
      looks += 1;
      await new Promise(setImmediate);
    }
    await writing;
    expect(looks).toBeGreaterThan(0);
  });

  it('does nothing at all when one of its records is refused', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    await journal.append(claim, [reasoning()]);
    const before = [await journal.getRun(claim.runId), await journal.readLog(claim.runId, -1)];

    await expect(journal.append(claim, [step(), completed(), reasoning('after the end')])).rejects.toThrow();

    expect([await journal.getRun(claim.runId), await journal.readLog(claim.runId, -1)]).toEqual(before);
    const [next] = await journal.append(claim, [reasoning()]);
    expect(next).toMatchObject({ pos: 3, seq: 1 });
  });

  it('does nothing when a record cannot be stored', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    const bad = { ...toolStarted(), public: { ...toolStarted().public, arguments: circular } };
    await expect(journal.append(claim, [reasoning(), bad as never])).rejects.toThrow();
    expect(await events(claim.runId)).toEqual([]);
    expect(await journal.append(claim, [reasoning()])).toMatchObject([{ pos: 2, seq: 0 }]);
  });

  it('does not affect other calls when one is refused', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    const stale: Lease = { runId: claim.runId, epoch: claim.epoch - 1 };
    const results = await Promise.allSettled([
      journal.append(claim, [delta('a')]),
      journal.append(stale, [delta('stale')]),
      journal.post('run_unknown', { kind: 'stop' }),
      journal.append(claim, [delta('b')]),
      journal.createRun(newRun({ runId: claim.runId }), NO_LIMIT),
      journal.append(claim, [delta('c')]),
    ]);
    expect(results.map(({ status }) => status === 'fulfilled')).toEqual([
      true,
      false,
      false,
      true,
      false,
      true,
    ]);
    expect((await events(claim.runId)).map(({ payload }) => JSON.parse(payload).delta)).toEqual([
      'a',
      'b',
      'c',
    ]);
  });

  it('stores the fold of the records', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    await journal.append(claim, [context(), toolStarted(), toolCompleted(), step(), step()]);
    await journal.append(claim, [completed()]);
    const log = await journal.readLog(claim.runId, -1);
    expect((await journal.getRun(claim.runId))?.state).toEqual(log.reduce(foldRecord, INITIAL_STATE));
  });

  it('accepts an empty list of records', async () => {
    const claim = await claimedRun(subject.journal);
    const before = await subject.journal.getRun(claim.runId);
    expect(await subject.journal.append(claim, [])).toEqual([]);
    expect(await subject.journal.getRun(claim.runId)).toEqual(before);
  });

  it('returns every character unchanged', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    const text = 'line\r\n\u2028 "quotes" \\ \0 \u0001 ü 😀 \ud800 \uFEFF';
    await journal.append(claim, [
      reasoning(text),
      { event: 'run.context', private: { messages: [{ role: 'user', content: text }] } },
    ]);
    const log = await journal.readLog(claim.runId, 1);
    expect(log).toMatchObject([
      { public: { text } },
      { private: { messages: [{ role: 'user', content: text }] } },
    ]);
    expect(JSON.parse((await events(claim.runId))[0]!.payload)).toEqual({ text });
  });

  it('accepts a record of a megabyte', async () => {
    const claim = await claimedRun(subject.journal);
    const output = 'x'.repeat(1_000_000);
    await subject.journal.append(claim, [{ ...toolCompleted(), private: { output } } as never]);
    expect((await subject.journal.readLog(claim.runId, 1))[0]?.private).toEqual({ output });
  });

  itTimed("gives records the store's time, which never goes backwards in a run", async () => {
    const { journal, clock } = subject;
    const claim = await claimedRun(journal);
    const start = clock.now();
    clock.advance(5000);
    const [late] = await journal.append(claim, [reasoning()]);
    clock.advance(-9000);
    const [later] = await journal.append(claim, [reasoning()]);
    expect([late?.at, later?.at]).toEqual([start + 5000, start + 5000]);
    expect((await journal.getRun(claim.runId))?.updatedAt).toBe(start + 5000);
  });

  it('is seen by a reader as soon as it resolves', async () => {
    const claim = await claimedRun(subject.journal);
    for (let i = 0; i < 20; i++) {
      const [record] = await subject.journal.append(claim, [reasoning()]);
      expect(names(await subject.journal.readLog(claim.runId, record!.pos - 1))).toEqual([
        'reasoning.available',
      ]);
    }
  });
}
