/**
 * 200 trajectories of a small task through 32 slots, with a reward for each. The server gives out slots:
 *
 *   talaria serve --slots --max-slots 32
 *   node examples/rollouts.ts [trajectories] [slots]
 *
 * The task: print the sum of the numbers in a file. The policy here only picks one of four commands; a trainer has its
 * model in this place.
 */
import { Talaria } from '@talaria/client';

const POLICY = [
  "awk '{ sum += $1 } END { print sum }' numbers",
  'sum=0; while read n; do sum=$((sum + n)); done < numbers; echo $sum',
  'wc -l < numbers',
  'head -n 1 numbers',
];

const [trajectories = 200, slots = 32] = process.argv.slice(2).map(Number);
const client = new Talaria();

/** One trajectory: a slot with the task in it, what the policy does there, and what that is worth. */
async function rollOut(number: number): Promise<number> {
  const numbers = Array.from({ length: 5 }, (_, i) => (number + 1) * (i + 1));
  const slot = await client.slots.acquire({ trajectory_id: `sum-${number}` });
  try {
    const call = (tool: string, args: Record<string, unknown>) =>
      client.slots.execute({ requests: [{ slot_id: slot.id, tool, args }], timeout_s: 30 });
    await call('write_file', { path: 'numbers', content: `${numbers.join('\n')}\n` });
    const [result] = await call('bash', { command: POLICY[number % POLICY.length] });
    const sum = numbers.reduce((total, each) => total + each, 0);
    return result?.success && result.output.trim() === String(sum) ? 1 : 0;
  } finally {
    await client.slots.release(slot.id, { reset_workspace: true });
  }
}

const rewards: number[] = [];
let next = 0;
async function work(): Promise<void> {
  while (next < trajectories) {
    const number = next++;
    rewards[number] = await rollOut(number);
  }
}

const startedAt = performance.now();
await Promise.all(Array.from({ length: slots }, work));
const seconds = (performance.now() - startedAt) / 1000;
const total = rewards.reduce((sum, reward) => sum + reward, 0);
console.log(`${rewards.length} trajectories, mean reward ${(total / rewards.length).toFixed(2)}`);
console.error(`${(rewards.length / seconds).toFixed(1)} trajectories a second`);
