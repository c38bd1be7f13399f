/**
 * Files leave the server complete, or with an error, from the first command to the eviction, and reveal nothing else.
 */
import { readdirSync, readFileSync, readlinkSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { ArtifactList } from '@talaria/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { script } from '../support/model-server.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { waitFor } from '../support/wait-for.ts';
import { endsAs, ServerWithModel, terminal } from './server-with-model.ts';

const MEGABYTE = 1_000_000;
const HUGE_BYTES = 160 * MEGABYTE;
/** The SHA-256 of so many zeros. */
const HUGE_DIGEST = '1514400f73519c5ffb742726a1125c11ea621de13c4c1f76283fb16bbd58e205';
/** More than what sockets and streams buffer between the two ends. */
const LARGE_BYTES = 40 * MEGABYTE;
const ZEROS = Buffer.alloc(MEGABYTE);
/** How much memory a stream may take while it moves more than that. */
const MEMORY_LIMIT_BYTES = 120 * MEGABYTE;

let world: ServerWithModel<ServerProcess>;
beforeAll(async () => {
  world = await ServerWithModel.startProcess({ TALARIA_APPROVALS_ISOLATED: 'skip' });
});
afterAll(() => world[Symbol.asyncDispose]());

async function runCommand(command: string): Promise<string> {
  const runId = await world.api.create(script([{ tools: [terminal(command)] }, { text: 'done' }]));
  const { frames } = await endsAs(world.api, runId, 'run.completed');
  expect(frames.map(({ event }) => event)).toContainEqual(
    expect.objectContaining({ event: 'tool.completed', error: false }),
  );
  return runId;
}

function artifacts(runId: string, path = '', init: RequestInit = {}): Promise<Response> {
  return fetch(`${world.server.url}/v1/runs/${runId}/artifacts${path}`, init);
}

async function listed(runId: string): Promise<string[]> {
  const list = (await (await artifacts(runId)).json()) as ArtifactList;
  return list.data.map(({ path }) => path);
}

const text = async (runId: string, path: string) =>
  (await artifacts(runId, `/content?path=${encodeURIComponent(path)}`)).text();

test('files are available while the run works, after its end, and after a restart', async () => {
  const steps = [
    { tools: [terminal('echo one > new && mv new first')] },
    { tools: [terminal('while [ ! -e go ]; do sleep 0.05; done; echo two > second')] },
    { text: 'done' },
  ];
  const runId = await world.api.create(script(steps));
  await waitFor('the first file', async () => (await listed(runId)).includes('first'));
  expect(await text(runId, 'first')).toBe('one\n');
  expect((await artifacts(runId, '/archive')).status).toBe(200);
  expect((await artifacts(runId, '/content?path=second')).status).toBe(404);
  expect((await world.api.run(runId)).status).toBe('running');
  writeFileSync(world.workspaceFile(runId, 'go'), '');
  await endsAs(world.api, runId, 'run.completed');
  expect(await listed(runId)).toEqual(['first', 'go', 'second']);
  expect(await text(runId, 'second')).toBe('two\n');

  await world.server.kill();
  await world.server.start();
  expect(await listed(runId)).toEqual(['first', 'go', 'second']);
  expect(await text(runId, 'second')).toBe('two\n');
});

test('files are deleted with their run', async () => {
  await using short = await ServerWithModel.start({ TALARIA_RUN_RETENTION_SECONDS: '1' });
  const steps = [{ tools: [terminal('echo x > file')] }, { gate: 'read', text: 'done' }];
  const runId = await short.api.create(script(steps));
  await short.model.waitingAt('read');
  const paths = ['', '/content?path=file', '/archive'];
  for (const path of paths) {
    expect((await short.api.get(`/v1/runs/${runId}/artifacts${path}`)).status).toBe(200);
  }
  short.model.open('read');
  await waitFor('the eviction', async () => (await short.api.get(`/v1/runs/${runId}`)).status === 404);
  for (const path of paths) {
    expect(await short.api.get(`/v1/runs/${runId}/artifacts${path}`)).toMatchObject({
      status: 404,
      body: { error: { code: 'run_not_found' } },
    });
  }
});

// In `npm test` the contract of backends shows the same without HTTP, for links of every kind.
test('a file that is swapped for a link while it is requested reveals nothing of the host', {
  tags: ['soak'],
}, async () => {
  const swap =
    'mkdir -p target; while :; do echo mine > new; mv -T new target/passwd; ln -s /etc/passwd l; mv -T l target/passwd; done';
  const runId = await world.api.create(script([{ tools: [terminal(swap)] }, { text: 'done' }]));
  await waitFor('the swapping to begin', async () => (await listed(runId)).length > 0);
  const asked = [
    '?recursive=true',
    '/content?path=target/passwd',
    '/archive?format=tar',
    '/archive?format=tar&path=target',
    '/archive?format=tar&path=target/passwd',
  ];
  let mine = 0;
  for (let round = 0; round < 200 || mine === 0; round += 1) {
    await Promise.all(
      asked.map(async (path) => {
        // A file that is swapped while it is sent may break off the response; it is still no other file.
        const body = await artifacts(runId, path)
          .then((response) => response.text())
          .catch(() => '');
        expect(body).not.toContain('root:');
        if (body.includes('mine')) mine++;
      }),
    );
  }
  await world.api.stop(runId);
  await endsAs(world.api, runId, 'run.cancelled');
  expect(mine).toBeGreaterThan(0);
});

describe('a file larger than what the server takes for it', () => {
  let runId: string;
  beforeAll(async () => {
    runId = await runCommand(
      `truncate -s ${HUGE_BYTES} huge; truncate -s ${LARGE_BYTES} large; touch $(seq 50)`,
    );
    // The first responses of a process also load code and warm up caches.
    await artifacts(runId, '/archive?format=tar.gz&path=1');
  });

  test('is sent completely, in parts, and with its digest, in constant memory', async () => {
    const memory = watchMemory();
    const response = await artifacts(runId, '/content?path=huge');
    expect(response.headers.get('content-length')).toBe(String(HUGE_BYTES));
    let total = 0;
    let different = 0;
    for await (const chunk of response.body!) {
      total += chunk.length;
      if (!ZEROS.subarray(0, chunk.length).equals(chunk)) different += 1;
    }
    expect({ total, different }).toEqual({ total: HUGE_BYTES, different: 0 });
    expect(response.headers.get('etag')).toBe(`"${HUGE_DIGEST}"`);
    const range = { headers: { range: `bytes=${HUGE_BYTES - 5}-` } };
    expect(await (await artifacts(runId, '/content?path=huge', range)).bytes()).toEqual(new Uint8Array(5));
    expect(memory.grownBytes()).toBeLessThan(MEMORY_LIMIT_BYTES);
  });

  // All archives are streamed in the same way. Compressing takes longest.
  test('is archived as tar in constant memory', () => archives('tar'));
  test.each(['tar.gz', 'zip'])('is archived as %s in constant memory', { tags: ['soak'] }, archives);

  async function archives(format: string): Promise<void> {
    const memory = watchMemory();
    const response = await artifacts(runId, `/archive?format=${format}`);
    let total = 0;
    for await (const chunk of response.body!) total += chunk.length;
    if (format === 'tar') expect(total).toBeGreaterThan(HUGE_BYTES);
    else expect(total).toBeGreaterThan(HUGE_BYTES / 2000);
    expect(memory.grownBytes()).toBeLessThan(MEMORY_LIMIT_BYTES);
  }

  test('is read for its digest once', async () => {
    const { ctimeMs } = statSync(world.workspaceFile(runId, 'large'));
    await waitFor('the file to be settled', () => Date.now() - ctimeMs > 2_500);
    const ask = () => artifacts(runId, '/content?path=large', { method: 'HEAD' });
    await ask();
    const before = bytesRead();
    const tags = await Promise.all([ask(), ask(), ask()]);
    expect(bytesRead() - before).toBeLessThan(LARGE_BYTES / 2);
    expect(new Set(tags.map(({ headers }) => headers.get('etag'))).size).toBe(1);
  });

  const LEAVES = 'a client that stalls and leaves in the middle leaves nothing open';
  test(LEAVES, () => leavesInTheMiddle('/archive?format=tar'));
  const others = ['/content?path=huge', '/archive?format=tar.gz', '/archive?format=zip'];
  test.each(others)(`${LEAVES}, of %s`, { tags: ['soak'] }, leavesInTheMiddle);

  async function leavesInTheMiddle(path: string): Promise<void> {
    const before = openFiles();
    const memory = watchMemory();
    await Promise.all(
      Array.from({ length: 5 }, async () => {
        const abort = new AbortController();
        const response = await artifacts(runId, path, { signal: abort.signal });
        const reader = response.body!.getReader();
        await reader.read();
        await delay(300);
        abort.abort();
        await reader.read().catch(() => {});
      }),
    );
    await waitFor('the files to be closed', () => openFiles().length <= before.length);
    expect(openFiles().filter((file) => file.includes('/workspaces/'))).toEqual([]);
    expect(memory.grownBytes()).toBeLessThan(MEMORY_LIMIT_BYTES);
  }

  test('that becomes shorter while it is sent never looks complete', async () => {
    const shrinking = await runCommand(`truncate -s ${LARGE_BYTES} large`);
    for (const path of ['/content?path=large', '/archive?format=tar']) {
      const file = world.workspaceFile(shrinking, 'large');
      truncateSync(file, LARGE_BYTES);
      const response = await artifacts(shrinking, path);
      const reader = response.body!.getReader();
      await reader.read();
      truncateSync(file, 1000);
      const drain = async () => {
        while (!(await reader.read()).done);
      };
      await expect(drain()).rejects.toThrow();
    }
  });
});

function watchMemory(): { grownBytes(): number } {
  const before = memoryBytes();
  let highest = before;
  const timer = setInterval(() => {
    highest = Math.max(highest, memoryBytes());
  }, 20);
  return {
    grownBytes() {
      clearInterval(timer);
      return Math.max(highest, memoryBytes()) - before;
    },
  };
}

function memoryBytes(): number {
  const status = readFileSync(`/proc/${world.server.pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

function bytesRead(): number {
  return Number(/^rchar: (\d+)$/m.exec(readFileSync(`/proc/${world.server.pid}/io`, 'utf8'))?.[1]);
}

/** What the server has open, without sockets: those of idle connections come and go. */
function openFiles(): string[] {
  const directory = `/proc/${world.server.pid}/fd`;
  return readdirSync(directory).flatMap((fd) => {
    try {
      const target = readlinkSync(`${directory}/${fd}`);
      return target.startsWith('socket:') ? [] : [target];
    } catch {
      return [];
    }
  });
}
