/** Watches a run from its first event to its last, and decides which of its commands may run. */
import { Talaria } from '@talaria/client';

const client = new Talaria();
const run = await client.runs.run(
  { input: 'Run `echo hello > greeting` and then `rm -rf cache`' },
  {
    onEvent: (event) => {
      if (event.event === 'tool.started') console.log('$', event.preview);
      if (event.event === 'tool.completed') console.log(event.error ? 'failed' : 'done');
    },
    onApproval: async ({ command, pattern_key }) => {
      console.log(`may it run ${command}? (${pattern_key})`);
      return 'deny';
    },
  },
);
console.log(run.status);
//=> $ echo hello > greeting
//=> done
//=> $ rm -rf cache
//=> may it run rm -rf cache? (recursive delete)
//=> failed
//=> completed
