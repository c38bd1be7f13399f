/** Asks for an answer that matches a schema. The server checks it and lets the model correct itself. */
import { Talaria } from '@talaria/client';
import { z } from 'zod';

const client = new Talaria();
const run = await client.runs.run({
  // The demo model answers with the text in backticks. A real one would read a page or a file.
  input: 'Which release is this? `{"version": "1.4.0", "breaking": false}`',
  output_schema: z.object({ version: z.string(), breaking: z.boolean() }),
});
console.log(run.output_parsed?.version); //=> 1.4.0
console.log(run.output_parsed?.breaking ? 'read the notes first' : 'just upgrade'); //=> just upgrade
