/**
 * What every ToolBackend must do, as a suite that each driver runs. Its parts are in `contract/`. The suite uses only the
 * contract of a backend: it finds out what a command did through another command or through the file tools.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, test } from 'vitest';
import type { ExecuteOptions, ExecutionResult, Slot, ToolBackend } from './backend.ts';
import { describeArguments } from './contract/arguments.contract.ts';
import { describeArtifacts } from './contract/artifacts.contract.ts';
import { describeBatches } from './contract/batch.contract.ts';
import { describeCaptures } from './contract/captures.contract.ts';
import { describeDemands } from './contract/demands.contract.ts';
import { describeEnding } from './contract/ending.contract.ts';
import { describeEnvironment } from './contract/environment.contract.ts';
import { describeFiles } from './contract/files.contract.ts';
import { describeLifecycle } from './contract/lifecycle.contract.ts';
import { describeNeighbours } from './contract/neighbours.contract.ts';
import { describeOutput } from './contract/output.contract.ts';
import { describePatch } from './contract/patch.contract.ts';
import { describePaths } from './contract/paths.contract.ts';
import { describeProcesses } from './contract/processes.contract.ts';
import { describeResults } from './contract/results.contract.ts';
import { describeSearchFiles } from './contract/search-files.contract.ts';
import { describeSlots } from './contract/slots.contract.ts';
import { describeSnapshots } from './contract/snapshots.contract.ts';
import { describeStateful } from './contract/stateful.contract.ts';
import { describeTerminal } from './contract/terminal.contract.ts';
import { describeTimeouts } from './contract/timeouts.contract.ts';
import { describeWriting } from './contract/writing.contract.ts';
import type { ContractPart, ContractTools, Race } from './testing/contract-tools.ts';

export { CONTRACT_LIMITS, describeLimitsContract } from './contract/limits.contract.ts';

export interface BackendUnderTest {
  /** A new backend, not started yet. All of them work on the same workspaces: each is the last one, restarted. */
  create(): ToolBackend;
  /** Frees what the tests used; called after the last backend is stopped. */
  dispose(): Promise<void>;
}

export interface ContractSize {
  /** In the soak test; a backend that starts commands slowly needs fewer to show the same in a minute. */
  timedOutCommands?: number;
  /**
   * How many slots the tests of many slots take at a time. If each slot has a container of its own, that many containers
   * start at once.
   */
  slots?: number;
  /**
   * True if the suite also tests large artifacts, and many of them. The host reads them in the same way under every isolation, and from
   * containers, too: there they show nothing new.
   */
  largeArtifacts?: boolean;
  /**
   * The parts in which this backend does something of its own; all of them by default. Another backend shows the others in
   * `npm test`, with the same code.
   */
  ownParts?: readonly ContractPart[] | undefined;
  /** The own parts that `npm test` runs; the others are soak tests. All of them by default. */
  testParts?: readonly ContractPart[] | undefined;
  /**
   * This backend is another one with a longer way to it. What does not depend on that way, nor on where workspaces are, is a
   * soak test here: `npm test` shows it on the other backend.
   */
  wrapsAnother?: boolean;
  /**
   * Whether `npm test` runs races between tools and commands; otherwise they are soak tests. The code that withstands them is
   * the same wherever workspaces are.
   */
  races?: boolean;
  /** The parts that look at what this backend does not have, such as its processes on this machine. They never run on it. */
  notParts?: readonly ContractPart[] | undefined;
  /** Commands run on a kernel of their own, as with gVisor. Tests of what only the machine's kernel shows are skipped by name. */
  ownKernel?: boolean;
}

const RACE_MS = 150;
const LONG_RACE_MS = 1_500;
/** On a busy machine a tool may find the file at its path only now and then. */
const RACE_LIMIT_MS = 60_000;

/** Only in the soak tests, and only with SOAK=full. */
const ONLY_IN_FULL = { tags: ['soak'], skip: process.env.SOAK !== 'full' };

export function describeBackendContract(
  name: string,
  setUp: () => Promise<BackendUnderTest>,
  {
    timedOutCommands = 200,
    slots = 50,
    largeArtifacts = false,
    ownKernel = false,
    ownParts,
    testParts,
    notParts,
    races = true,
    wrapsAnother = false,
  }: ContractSize = {},
): void {
  describe(`ToolBackend contract: ${name}`, () => {
    let underTest: BackendUnderTest;
    /** One for all tests: starting may take long. A test that stops it must start it again. */
    let backend: ToolBackend;
    let slot: Slot;
    let trajectory: string;

    const when = (part: ContractPart) => {
      if (notParts?.includes(part)) return { skip: true };
      if (ownParts?.includes(part) === false) return ONLY_IN_FULL;
      return testParts?.includes(part) === false ? { tags: ['soak'] } : {};
    };

    async function call(tool: string, args: Record<string, unknown>, options?: ExecuteOptions, on = slot) {
      const [result] = await backend.executeBatch([[on, tool, args]], options);
      return result as ExecutionResult;
    }

    const bash = (command: string, more: Record<string, unknown> = {}, options?: ExecuteOptions) =>
      call('bash', { command, ...more }, options);

    async function runRace(run: (racing: Race) => Promise<void>, durationMs: number): Promise<void> {
      const stop = new AbortController();
      let command: Promise<unknown> | undefined;
      let startedAt = 0;
      const end = async () => {
        stop.abort();
        await command;
      };
      try {
        await run({
          against(words) {
            command = bash(words, {}, { signal: stop.signal });
            startedAt = Date.now();
          },
          lasts: (isShown = () => true) => Date.now() < startedAt + (isShown() ? durationMs : RACE_LIMIT_MS),
          end,
        });
      } finally {
        await end();
      }
    }

    async function acquire(): Promise<void> {
      slot = await backend.acquire(trajectory);
    }

    beforeAll(async () => {
      underTest = await setUp();
      backend = underTest.create();
    });

    beforeEach(async () => {
      await backend.start();
      trajectory = `trajectory ${randomUUID()}`;
      await acquire();
    });

    afterEach(async () => {
      await backend.release(slot, { resetWorkspace: true });
    });

    afterAll(async () => {
      await backend.stop({ purge: true });
      await underTest.dispose();
    });

    const tools: ContractTools = {
      call,
      bash,
      when,
      sameEverywhere: wrapsAnother ? { tags: ['soak'] } : {},
      race(name, run) {
        if (races) test(name, () => runRace(run, RACE_MS));
        test(`${name}, for longer`, { tags: ['soak'] }, () => runRace(run, LONG_RACE_MS));
      },
      ownKernel,
      slot: () => slot,
      backend: () => backend,
      trajectory: () => trajectory,
      acquire,
      async withSlots(count, work) {
        const acquired = await Promise.allSettled(
          Array.from({ length: count }, () => backend.acquire(`one of many ${randomUUID()}`)),
        );
        const held = acquired.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
        try {
          for (const each of acquired) if (each.status === 'rejected') throw each.reason;
          await work(held);
        } finally {
          await Promise.all(held.map((each) => backend.release(each, { resetWorkspace: true })));
        }
      },
      async acquireAgain(options) {
        await backend.release(slot, options);
        await acquire();
      },
      async restart() {
        await backend.stop();
        backend = underTest.create();
        await backend.start();
        await acquire();
      },
    };
    describeResults(tools);
    describeArguments(tools);
    describeDemands(tools);
    describeEnvironment(tools);
    describeEnding(tools);
    describeOutput(tools);
    describeFiles(tools);
    describeBatches(tools, slots);
    describeStateful(tools);
    describeTerminal(tools);
    describeTimeouts(tools, { many: timedOutCommands, slots });
    describeNeighbours(tools);
    describeProcesses(tools);
    describePaths(tools);
    describePatch(tools);
    describeSearchFiles(tools);
    describeSnapshots(tools);
    describeWriting(tools);
    describeCaptures(tools);
    describeSlots(tools);
    describeArtifacts(tools, { large: largeArtifacts });
    describeLifecycle(tools);
  });
}
