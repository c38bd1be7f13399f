/**
 * Gives a run a tool that this program executes. The run waits for the result without holding a worker, and survives a
 * restart of the server meanwhile.
 */
import { Talaria } from '@talaria/client';
import { z } from 'zod';

const stock = new Map([['apples', 12]]);

const client = new Talaria();
const run = await client.runs.run({
  input: 'How many are left? `countStock {"item": "apples"}`',
  tools: {
    countStock: {
      description: 'How many pieces of an item are in stock',
      parameters: z.object({ item: z.string() }),
      execute: ({ item }) => ({ item, left: stock.get(item) ?? 0 }),
    },
  },
});
console.log(run.status); //=> completed
console.log(run.output?.includes('"left":12')); //=> true
