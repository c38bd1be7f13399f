/** Single streams, read with node:http over kept connections. */
import { Agent, type IncomingMessage, type RequestOptions, request } from 'node:http';

const agent = new Agent({ keepAlive: true, maxSockets: Infinity });

export interface StreamTimes {
  /** The time at which the first chunk with `wanted` arrived. */
  firstAt: number;
  endedAt: number;
  bytes: Buffer;
}

type Headers = Record<string, string>;

export function getStream(url: string, wanted: string, headers: Headers = {}): Promise<StreamTimes> {
  return readStream(url, { method: 'GET', headers }, undefined, wanted);
}

export function postStream(
  url: string,
  body: object,
  wanted: string,
  headers: Headers = {},
): Promise<StreamTimes> {
  const typed = { 'content-type': 'application/json', ...headers };
  return readStream(url, { method: 'POST', headers: typed }, JSON.stringify(body), wanted);
}

/** A run, from its creation to the end of its stream: two requests, as every client makes them. */
export async function createAndStream(
  url: string,
  input: string,
  wanted: string,
  more: object = {},
  headers: Headers = {},
): Promise<StreamTimes> {
  const runId = await createRun(url, input, more, headers);
  return getStream(`${url}/v1/runs/${runId}/events`, wanted, headers);
}

/** `more`: further fields of the request. */
export async function createRun(
  url: string,
  input: string,
  more: object = {},
  headers: Headers = {},
): Promise<string> {
  const created = await postStream(`${url}/v1/runs`, { input, ...more }, 'run_id', headers);
  return (JSON.parse(created.bytes.toString()) as { run_id: string }).run_id;
}

/** Resolves when the stream has ended. The stream must end, and must have contained the wanted text. */
function readStream(
  url: string,
  options: RequestOptions,
  body: string | undefined,
  wanted: string,
): Promise<StreamTimes> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { ...options, agent }, (response: IncomingMessage) => {
      const parts: Buffer[] = [];
      let firstAt: number | undefined;
      response.on('data', (part: Buffer) => {
        parts.push(part);
        if (firstAt === undefined && part.includes(wanted)) firstAt = performance.now();
      });
      response.on('error', reject);
      response.on('end', () => {
        const bytes = Buffer.concat(parts);
        if (firstAt !== undefined) resolve({ firstAt, endedAt: performance.now(), bytes });
        else reject(new Error(`No ${wanted} in the answer of ${url}: ${bytes.toString('utf8', 0, 500)}`));
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
