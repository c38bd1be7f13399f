/**
 * A server for tests of what happens to it: holds slots, each with a note and with commands that do not end, in the
 * foreground and in the background. Says `holding` when all of them run. For each line on its standard input it says
 * what the notes are.
 *
 *   node slot-holder.ts <workspacesDir> <isolation> <slots> <seconds the commands sleep for>
 */
import { createInterface } from 'node:readline';
import type { Isolation, Slot } from '../../backend.ts';
import { LocalBackend } from '../local-backend.ts';

const [workspacesDir = '', isolation, count, seconds] = process.argv.slice(2);
const backend = new LocalBackend({ workspacesDir, isolation: isolation as Isolation['kind'] });
await backend.start();
const slots = await Promise.all(
  Array.from({ length: Number(count) }, (_, i) => backend.acquire(`held-${i}`)),
);

async function all(tool: string, args: (slot: Slot) => Record<string, unknown>): Promise<string[]> {
  const results = await backend.executeBatch(slots.map((slot) => [slot, tool, args(slot)]));
  for (const { success, error } of results) if (!success) throw new Error(error);
  return results.map(({ output }) => output);
}

await all('write_file', ({ trajectoryId }) => ({ path: 'note', content: `note of ${trajectoryId}` }));
await all('bash', () => ({ command: `nohup sleep ${seconds}`, background: true }));
const command = `setsid sleep ${seconds} & ( ( sleep ${seconds} & ) & ); touch up; sleep ${seconds}`;
void backend.executeBatch(slots.map((slot) => [slot, 'bash', { command }]));
await all('bash', () => ({ command: 'until [ -e up ]; do sleep 0.05; done', timeout: 60 }));
console.log('holding');
for await (const _ of createInterface(process.stdin)) {
  console.log(JSON.stringify(await all('read_file', () => ({ path: 'note' }))));
}
