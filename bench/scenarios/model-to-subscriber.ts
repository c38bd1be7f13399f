/**
 * From the model to the subscriber: twenty runs at once, each with a model that streams as fast as it is read.
 *
 * It counts the model's chunks, not events: the server collects text for 20 ms into one event, so an event holds many
 * chunks. The server parses every chunk, makes it durable and delivers it; the floor passes the model's bytes on
 * unread. The received text is checked after the clock has stopped.
 */
import { createAndStream, postStream, type StreamTimes } from '../client/streams.ts';
import type { Row } from '../rows.ts';
import type { Stage } from '../stage.ts';
import { alternate, median } from '../statistics.ts';

const ROUNDS = 3;
const RUNS = 20;
const CHUNKS_PER_RUN = 2_000;
const INPUT = `bench:say ${CHUNKS_PER_RUN}`;
const WORD = ' word';

export async function modelToSubscriber(stage: Stage): Promise<Row[]> {
  const model = await stage.process('processes/model.ts');
  const modelUrl = `http://127.0.0.1:${model.port}/v1`;
  const proxy = await stage.process('floors/proxy.ts', [modelUrl]);
  const server = await stage.server({ modelUrl, env: { TALARIA_MAX_CONCURRENT_RUNS: String(RUNS) } });

  const sides = {
    floor: () =>
      stream(
        () => postStream(`http://127.0.0.1:${proxy.port}/`, { input: INPUT }, '"content"'),
        (frame) => frame.choices?.[0]?.delta?.content ?? '',
      ),
    ours: () =>
      stream(
        () => createAndStream(server.url, INPUT, 'message.delta'),
        (frame) => frame.delta ?? '',
      ),
  };
  await alternate(1, sides);
  const { ours, floor } = await alternate(ROUNDS, sides);
  const chunksPerEvent = Math.round(median(ours.map((round) => round.chunksPerFrame)));
  return [
    {
      what: 'model → subscriber, 20 runs',
      unit: 'chunks/s',
      better: 'more',
      ours: ours.map((round) => round.chunksPerSecond),
      floor: { name: 'bare proxy of the model', rounds: floor.map((round) => round.chunksPerSecond) },
      aim: { of: 'ratio', atLeast: 0.5 },
      note:
        'chunks of the model that reached their subscriber, each parsed and durable; the floor forwards bytes ' +
        `unread. The faster a model, the more of its chunks leave in one event: here ${chunksPerEvent}`,
    },
  ];
}

interface Frame {
  delta?: string;
  choices?: { delta?: { content?: string } }[];
}

async function stream(run: () => Promise<StreamTimes>, textOf: (frame: Frame) => string) {
  const startedAt = performance.now();
  const streams = await Promise.all(Array.from({ length: RUNS }, run));
  const seconds = (performance.now() - startedAt) / 1000;
  let frames = 0;
  for (const { bytes } of streams) {
    const found = [...bytes.toString().matchAll(/^data: (\{.*)$/gm)].map(
      ([, json]) => JSON.parse(json!) as Frame,
    );
    const text = found.map(textOf).join('');
    if (text !== WORD.repeat(CHUNKS_PER_RUN)) throw new Error('A subscriber did not get what the model said');
    frames += found.length;
  }
  return {
    chunksPerSecond: (RUNS * CHUNKS_PER_RUN) / seconds,
    chunksPerFrame: (RUNS * CHUNKS_PER_RUN) / frames,
  };
}
