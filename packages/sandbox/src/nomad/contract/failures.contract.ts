/** A container, a node or the agent that goes away under its slots: a typed answer, and the next acquire works. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startAndKill } from '../../containers/testing/start-and-kill.ts';
import { NomadAgent } from '../testing/nomad-agent.ts';
import { createTest, jobNames, type NomadTest, startTest } from '../testing/nomad-fixture.ts';

export function describeNomadFailures(agent: () => NomadAgent): void {
  describe('failures', () => {
    /** A slot with a saved file, and a command under way. */
    async function running(nomad: NomadTest) {
      const before = await nomad.backend.acquire('trajectory');
      await nomad.bash(before, 'echo saved > note');
      await nomad.backend.release(before);
      const slot = await nomad.backend.acquire('trajectory');
      const result = nomad.bash(slot, 'echo started > started; sleep 600', { timeout: 600 });
      await expect.poll(async () => (await nomad.bash(slot, 'cat started')).output).toBe('started\n');
      return { slot, result };
    }

    async function expectReplaced(nomad: NomadTest, { slot }: Awaited<ReturnType<typeof running>>) {
      await nomad.backend.release(slot);
      const next = await nomad.backend.acquire('trajectory');
      expect(next.containerId).not.toBe(slot.containerId);
      expect((await nomad.bash(next, 'cat note')).output).toBe('saved\n');
    }

    const GONE = { success: false, metadata: { failure: 'gone' } };

    test('an allocation that is stopped from outside answers its calls as gone, and is replaced', async () => {
      await using nomad = await startTest(agent());
      const { slot, result } = await running(nomad);
      await agent().call('POST', `/v1/allocation/${slot.containerId}/stop`, {});
      expect(await result).toMatchObject(GONE);
      await expectReplaced(nomad, { slot, result });
    });

    test('a task without room is refused at once, the error names what is used up, and no job is left', async () => {
      const job = { driver: 'raw_exec', memoryMb: 17_000 } as const;
      await using nomad = await createTest(agent(), { job });
      await expect(nomad.backend.start()).rejects.toMatchObject({
        code: 'slot_unavailable',
        message: expect.stringMatching(/no room.*memory is used up on 1/),
      });
      expect(await jobNames(agent())).toEqual([]);
    });

    test('while others hold all the room, a caller waits, and its error says why', async () => {
      const job = { driver: 'raw_exec', memoryMb: 9_000 } as const;
      await using nomad = await startTest(agent(), { job, acquireTimeoutS: 5 });
      await nomad.backend.acquire('first');
      await expect(nomad.backend.acquire('second')).rejects.toMatchObject({
        code: 'acquire_timeout',
        message: expect.stringMatching(/no room.*memory is used up on 1/),
      });
    });

    test('calls to an agent that takes few connections at a time are repeated, and no start fails', async () => {
      await using own = await NomadAgent.start({ maxConnections: 4 });
      await using nomad = await startTest(own, { maxContainers: 8 });
      const slots = await Promise.all(
        [0, 1, 2, 3, 4, 5].map((index) => nomad.backend.acquire(`many-${index}`)),
      );
      for (const slot of slots) expect((await nomad.bash(slot, 'echo well')).output).toBe('well\n');
      expect(nomad.troubles).toEqual([]);
    });

    test('a drained node ends its containers, and has no room until it is back', async () => {
      await using nomad = await startTest(agent());
      const before = await running(nomad);
      const [node] = await agent().call<{ ID: string }[]>('GET', '/v1/nodes');
      const drain = (spec: object) => agent().call('POST', `/v1/node/${node?.ID}/drain`, spec);
      await drain({ DrainSpec: { Deadline: -1, IgnoreSystemJobs: false } });
      try {
        expect(await before.result).toMatchObject(GONE);
        await expect(nomad.backend.acquire('other')).rejects.toMatchObject({ code: 'slot_unavailable' });
      } finally {
        await drain({ DrainSpec: null, MarkEligible: true });
      }
      await expectReplaced(nomad, before);
    });

    test('an agent that is killed and started again: typed errors, then everything works', async () => {
      await using own = await NomadAgent.start({ persistent: true });
      await using nomad = await startTest(own);
      const before = await running(nomad);
      await own.kill();
      try {
        expect(await before.result).toMatchObject(GONE);
        await expect(nomad.backend.acquire('other')).rejects.toMatchObject({
          message: expect.stringContaining('NOMAD_ADDR'),
        });
      } finally {
        await own.start();
      }
      await expectReplaced(nomad, before);
      expect(await jobNames(own)).not.toContain(before.slot.containerId);
    });

    test('after kill -9 of a server the next start leaves no job of its own, and all of others', async () => {
      await using neighbour = await startTest(agent());
      const theirs = await neighbour.backend.acquire('theirs');
      const workspacesDir = await mkdtemp(join(tmpdir(), 'talaria-nomad-test-'));
      const options = { workspacesDir, slotsPerContainer: 2, nomad: { address: agent().address } };
      const killed = ['killed-0', 'killed-1', 'killed-2'];
      await startAndKill({
        ...{ module: new URL('../nomad-backend.ts', import.meta.url), backend: 'NomadBackend' },
        ...{ options: { ...options, job: { driver: 'raw_exec' } }, trajectories: killed },
      });
      const left = await jobNames(agent());
      expect(left.length).toBeGreaterThanOrEqual(2);
      // Nobody ends it: a container that hears nothing of its owner ends by itself.
      const ended = async () =>
        (await agent().call<{ Status: string }[]>('GET', '/v1/jobs')).filter(
          ({ Status }) => Status === 'dead',
        );
      await expect.poll(async () => (await ended()).length).toBe(left.length - 1);
      await using restarted = await startTest(agent(), options);
      expect(await neighbour.bash(theirs, 'echo well')).toMatchObject({ output: 'well\n' });
      const jobs = await jobNames(agent());
      expect(jobs.filter((name) => left.includes(name))).toHaveLength(1);
      for (const [index, trajectory] of killed.entries()) {
        const slot = await restarted.backend.acquire(trajectory);
        expect((await restarted.bash(slot, 'cat index')).output).toBe(`${index}\n`);
      }
    });
  });
}
