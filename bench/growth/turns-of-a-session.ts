/**
 * How the cost of a turn grows with the turns before it. Each turn brings the model the whole conversation so far, so
 * some growth is the work itself.
 */
import { createAndStream, getStream } from '../client/streams.ts';
import { medianMs, type Question } from './question.ts';

const TIMES = 5;
const SESSION = 'growth';
const INPUT = 'bench:say 5';

export const turnsOfASession: Question = {
  of: 'turns of a session',
  sizes: [10, 100, 1_000],
  async *measure(stage, sizes) {
    const model = await stage.process('processes/model.ts');
    const server = await stage.server({ modelUrl: `http://127.0.0.1:${model.port}/v1` });
    const turn = () => createAndStream(server.url, INPUT, 'run.completed', { session_id: SESSION });
    const messages = `${server.url}/api/sessions/${SESSION}/messages`;
    const list = `${server.url}/api/sessions`;
    let turns = 0;
    for (const size of sizes) {
      for (; turns < size; turns++) await turn();
      const ms = {
        'a turn (create → end)': await medianMs(TIMES, turn, 0),
        'a run of another session': await medianMs(TIMES, () =>
          createAndStream(server.url, INPUT, 'run.completed'),
        ),
        'first page of the transcript': await medianMs(TIMES, () => getStream(messages, 'data')),
        'list of sessions': await medianMs(TIMES, () => getStream(list, SESSION)),
      };
      turns += TIMES;
      yield { size, ms };
    }
  },
};
