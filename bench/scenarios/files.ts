/**
 * Files: a large file uploaded and downloaded, in megabytes a second.
 *
 * Fair because the floor does the part that cannot be left out: it pipes the body to a file on the same disk and hashes it, and
 * pipes the file back. It neither reads a form nor waits for the disk, which the server does before it answers.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { Row } from '../rows.ts';
import type { Stage } from '../stage.ts';
import { alternate } from '../statistics.ts';

const ROUNDS = 7;
const BYTES = 100_000_000;
const PIECE_BYTES = 256 * 1024;
const MEGABYTE = 1_000_000;
const BOUNDARY = 'bench-boundary';
const HEAD = Buffer.from(
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="large"\r\n` +
    'Content-Type: application/octet-stream\r\n\r\n',
);
const TAIL = Buffer.from(`\r\n--${BOUNDARY}--\r\n`);
const FORM = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };

export async function files(stage: Stage): Promise<Row[]> {
  const server = await stage.server({ dataDir: stage.directory() });
  const floor = await stage.process('floors/pipe-to-file.ts', [stage.directory()]);
  const content = randomBytes(BYTES);
  const [ours, bare] = [`${server.url}/v1/files`, `http://127.0.0.1:${floor.port}/`];
  let latest = '';
  const upload = async (): Promise<void> => {
    const answer = await sent(ours, 'POST', [HEAD, content, TAIL], FORM);
    latest = (JSON.parse(answer.toString()) as { id: string }).id;
  };
  const uploads = {
    floor: () => rate(() => sent(bare, 'POST', [content])),
    ours: () => rate(upload),
  };
  await alternate(1, uploads);
  const up = await alternate(ROUNDS, uploads);
  const down = await alternate(ROUNDS, {
    floor: () => rate(() => received(bare)),
    ours: () => rate(() => received(`${ours}/${latest}/content`)),
  });
  const row = (what: string, rounds: typeof up): Row => ({
    what,
    unit: 'MB/s',
    better: 'more',
    ours: rounds.ours,
    floor: { name: 'node:http, a file, sha256', rounds: rounds.floor },
    aim: { of: 'ratio', atLeast: 0.7 },
    note: `a file of ${BYTES / MEGABYTE} MB`,
  });
  return [row('file, uploaded', up), row('file, downloaded', down)];
}

async function rate(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return BYTES / MEGABYTE / ((performance.now() - startedAt) / 1000);
}

async function sent(
  url: string,
  method: string,
  parts: readonly Buffer[],
  headers: Record<string, string> = {},
): Promise<Buffer> {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const outgoing = request(url, { method, headers: { ...headers, 'content-length': length } });
  const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>;
  for (const part of parts) {
    for (let at = 0; at < part.length; at += PIECE_BYTES) {
      if (!outgoing.write(part.subarray(at, at + PIECE_BYTES))) await once(outgoing, 'drain');
    }
  }
  outgoing.end();
  const [response] = await answered;
  const body = Buffer.concat(await response.toArray());
  if (response.statusCode !== 200) throw new Error(`${url} answered ${response.statusCode}: ${body}`);
  return body;
}

async function received(url: string): Promise<void> {
  const outgoing = request(url).end();
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  let bytes = 0;
  for await (const part of response) bytes += (part as Buffer).length;
  if (bytes !== BYTES) throw new Error(`${url} answered ${response.statusCode} with ${bytes} bytes`);
}
