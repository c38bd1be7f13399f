/**
 * How the time until everybody has an event grows with those who watch the run: from the append to the last of them.
 */

import { createRunId } from '@talaria/protocol';
import { Crowd } from '../client/crowd.ts';
import { availableDescriptors } from '../client/descriptors.ts';
import type { Produce } from '../processes/event-source.ts';
import { medianMs, type Question } from './question.ts';

const TIMES = 9;
/** The descriptors that a process needs beside its sockets. */
const OTHER_DESCRIPTORS = 200;

export const subscribers: Question = {
  of: 'subscribers of a run',
  sizes: [1, 10, 100, 1_000, 10_000],
  async *measure(stage, sizes) {
    const limit = availableDescriptors();
    for (const size of sizes) {
      if (size + OTHER_DESCRIPTORS > limit) {
        yield { size, ms: {}, skipped: `a process may open ${limit} files here` };
        continue;
      }
      await using own = stage.nested();
      const runId = createRunId();
      const server = await own.process('processes/fan-out-server.ts', [own.directory(), runId]);
      const connecting = performance.now();
      using crowd = await Crowd.connect(server.port, `/v1/runs/${runId}/events`, size);
      const connected = performance.now() - connecting;
      let marker = 0;
      const everybody = await medianMs(TIMES, async () => {
        const wanted: Produce = { events: 1, marker: `marker-${marker++}-` };
        server.send(wanted);
        await crowd.until(wanted.marker);
      });
      yield { size, ms: { 'append → the last subscriber': everybody, 'connect all': connected } };
    }
  },
};
