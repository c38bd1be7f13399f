/**
 * Leaves a run and comes back. A real program keeps the run's id and the cursor in a file or a database: the second half
 * then works in another process, on another day, and after a restart of the server.
 */
import { Talaria } from '@talaria/client';

const client = new Talaria();
const { run_id } = await client.runs.create({ input: 'Run `echo one`, then `echo two`' });

const stream = client.runs.streamEvents(run_id);
for await (const event of stream) {
  if (event.event !== 'tool.completed') continue;
  console.log('seen:', event.preview.trim()); //=> seen: one
  break; // leaves the stream; the run continues
}
const { cursor } = stream;

for await (const event of client.runs.streamEvents(run_id, { after: cursor })) {
  if (event.event === 'tool.completed') console.log('seen:', event.preview.trim()); //=> seen: two
  if (event.event === 'run.completed') console.log('the end'); //=> the end
}
