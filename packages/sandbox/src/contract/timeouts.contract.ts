/**
 * Very many commands that time out, each clinging to life in another way, leave nothing behind. They run in lanes, one
 * for each of some slots, so that many are started and ended at the same time.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Slot } from '../backend.ts';
import type { ContractTools } from '../testing/contract-tools.ts';
import { processesWith, uniqueSeconds, zombieChildren } from '../testing/host-processes.ts';

const LANES_MAX = 20;
/** Enough on a quiet machine for a command to start its processes; if it was not, the next ones get twice as long. */
const TIMEOUT_S = 0.4;
const TIMEOUT_MAX_S = 5;
/** Three in a lane, four for each way. */
const FEW = 24;
const IN_A_LANE = 3;
/** Includes the start of as many containers. */
const LIMIT_MS = 300_000;
const LOOK_MS = 50;

/** Ways in which something outlives the shell that started it. */
const HOLDS: ((program: string) => string)[] = [
  (program) => `${program} &`,
  (program) => `setsid ${program} &`,
  (program) => `setsid nohup ${program} > /dev/null 2>&1 < /dev/null &`,
  (program) => `( ( ${program} & ) & );`,
  (program) => `( ( setsid ${program} & ) & );`,
  (program) => `( trap "" TERM HUP INT QUIT; ${program} ) & trap "" TERM HUP INT QUIT;`,
];

/** `many` is their number in the soak test, `slots` how many slots there may be at a time. */
export function describeTimeouts(
  { backend, call, when, withSlots }: ContractTools,
  { many, slots: places }: { many: number; slots: number },
): void {
  describe('timeouts', when('timeouts'), () => {
    test(
      `${FEW} commands that time out leave no process, no zombie and no file written later`,
      {
        timeout: LIMIT_MS,
      },
      () => timeOut(FEW),
    );

    test(
      `${many} commands that time out leave nothing either`,
      {
        timeout: LIMIT_MS + many * 1_000,
        tags: ['soak'],
      },
      () => timeOut(many),
    );

    async function timeOut(count: number): Promise<void> {
      const lanes = Math.min(LANES_MAX, places, Math.ceil(count / IN_A_LANE));
      const seconds = uniqueSeconds();
      // A survivor sees the file `go` when it exists, and says so. It waits by reading from a pipe of its own, because
      // thousands of briefly sleeping processes would take most of the test's time.
      const late = `bash -c "exec 3<> <(:); until [ -e go ]; do read -rt 0.1 -u 3; done; echo late >> late"`;
      const command = (index: number) => {
        const hold = HOLDS[index % HOLDS.length] as (typeof HOLDS)[number];
        return `${hold(`sleep ${seconds}`)} ${hold(late)} echo up; exec sleep ${seconds}`;
      };

      const up = new Set<number>();
      let seen = 0;
      let timeout = TIMEOUT_S;
      const lane = async (slot: Slot, number: number) => {
        for (let index = number; index < count; index += lanes) {
          const running = call('bash', { command: command(index), timeout }, {}, slot);
          if (number === 0) seen = Math.max(seen, await mostUntil(running, seconds));
          const result = await running;
          expect(result.metadata, result.error).toMatchObject({ timed_out: true, failure: 'timeout' });
          if (result.output === 'up\n') up.add(index % HOLDS.length);
          else timeout = Math.min(timeout * 2, TIMEOUT_MAX_S);
        }
        expect(await call('bash', { command: 'echo next' }, {}, slot)).toMatchObject({ output: 'next\n' });
      };
      await withSlots(lanes, async (slots) => {
        await Promise.all(slots.map(lane));

        expect(processesWith(seconds)).toEqual([]);
        await expect.poll(zombieChildren).toEqual([]);
        const wait = { command: 'touch go; sleep 0.5; ls' } as const;
        const after = await backend().executeBatch(slots.map((slot) => [slot, 'bash', wait]));
        expect(after.map(({ output }) => output)).toEqual(slots.map(() => 'go\n'));
        // Otherwise the test showed nothing: the commands must have been visible, and every way must have been tried.
        expect(seen).toBeGreaterThan(0);
        expect([...up].sort()).toEqual(HOLDS.map((_, index) => index));
      });
    }
  });
}

/** The largest number of processes at any one time until the call is answered. */
async function mostUntil(answer: Promise<unknown>, seconds: string): Promise<number> {
  let answered = false;
  const end = () => {
    answered = true;
  };
  void answer.then(end, end);
  let most = 0;
  while (!answered) {
    most = Math.max(most, processesWith(seconds).length);
    await delay(LOOK_MS);
  }
  return most;
}
