/**
 * The reference server of Durable Streams with files, and a producer beside it that writes what the model says into a
 * stream per run.
 */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { DurableStream } from '@durable-streams/client';
import { DurableStreamTestServer } from '@durable-streams/server';
import { listen } from '../../processes/listen.ts';
import { streamModel } from './steps.ts';

const [modelUrl = '', dataDir = ''] = process.argv.slice(2);

const streams = new DurableStreamTestServer({ port: 0, host: '127.0.0.1', dataDir });
await streams.start();

listen(
  createServer(async (request, response) => {
    let prompt = '';
    for await (const part of request.setEncoding('utf8')) prompt += part;
    const url = `${streams.url}/runs/${randomUUID()}`;
    const stream = await DurableStream.create({ url, contentType: 'text/plain' });
    response.end(JSON.stringify({ url }));
    for await (const piece of streamModel(modelUrl, prompt)) await stream.append(piece);
    await stream.close();
  }),
);
