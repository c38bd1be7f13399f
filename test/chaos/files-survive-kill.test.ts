/** An upload whose server is killed leaves a whole file or none, and no bytes that nobody needs. */
import { randomBytes } from 'node:crypto';
import type { FileList, StoredFile } from '@talaria/protocol';
import { describe, expect, test } from 'vitest';
import { BlobSweep } from '../../packages/server/src/engine/blob-sweep.ts';
import { isConnectionLoss } from '../support/api.ts';
import { newStore } from '../support/store.ts';
import { waitFor } from '../support/wait-for.ts';
import { KillableServer, type Moment } from './killable-server.ts';
import { openStore } from './open-store.ts';

const BYTES = randomBytes(2_500_000);

function formOf(bytes: Uint8Array<ArrayBuffer>): FormData {
  const form = new FormData();
  form.set('file', new Blob([bytes]), 'a.bin');
  return form;
}

async function upload(server: KillableServer): Promise<StoredFile> {
  const response = await fetch(`${server.process.url}/v1/files`, { method: 'POST', body: formOf(BYTES) });
  expect(response.status).toBe(200);
  return (await response.json()) as StoredFile;
}

async function died(answer: Promise<unknown>): Promise<void> {
  const error: unknown = await answer.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(isConnectionLoss(error), String(error)).toBe(true);
}

/** Kills the server between two pieces. */
function uploadAndKill(server: KillableServer): Promise<unknown> {
  async function* half() {
    yield Buffer.from('--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n');
    yield BYTES;
    await server.kill();
    await new Promise(() => {});
  }
  return fetch(`${server.process.url}/v1/files`, {
    method: 'POST',
    headers: { 'content-type': 'multipart/form-data; boundary=b' },
    body: half() as never,
    duplex: 'half',
  } as RequestInit);
}

async function filesOf(server: KillableServer): Promise<StoredFile[]> {
  return (await server.api.get<FileList>('/v1/files')).body.data;
}

async function contentOf(server: KillableServer, { id }: StoredFile): Promise<Buffer> {
  const response = await fetch(`${server.process.url}/v1/files/${id}/content`);
  expect(response.status).toBe(200);
  return Buffer.from(await response.arrayBuffer());
}

/** The store of a server that is dead: swept as if a day had passed, how many blobs does it have? */
async function blobsAfterSweep(server: KillableServer, settings: Record<string, string>): Promise<number> {
  const { journal, blobs } = await openStore(server.process.dataDir, settings);
  try {
    const problems: unknown[] = [];
    const log = { debug() {}, info() {}, warn() {}, error: (fields: object) => problems.push(fields) };
    await new BlobSweep({ contents: journal.contents, blobs, log, graceMs: 0 }).sweep();
    expect(problems).toEqual([]);
    return (await blobs.list(undefined, 100)).length;
  } finally {
    await journal.close();
  }
}

async function startServer(moment?: Moment) {
  const settings = await newStore();
  const server = new KillableServer({ modelUrl: 'http://127.0.0.1:9/v1', store: settings });
  await server.start(moment);
  return { server, settings };
}

describe.concurrent('a server that is killed', () => {
  test('during uploads and a deletion has whole files only, and removes all other bytes', async () => {
    const { server, settings } = await startServer('blob.after-whole');
    await using _ = server;
    await died(upload(server));
    await server.diesByItself('blob.after-whole');

    // The client tries again.
    await server.start('file.after-delete');
    expect(await filesOf(server)).toEqual([]);
    const [kept, deleted] = [await upload(server), await upload(server)];
    await died(server.api.request('DELETE', `/v1/files/${deleted.id}`));
    await server.diesByItself('file.after-delete');

    await server.start();
    expect((await filesOf(server)).map(({ id }) => id)).toEqual([kept.id]);
    expect((await server.api.get(`/v1/files/${deleted.id}`)).status).toBe(404);
    expect((await contentOf(server, kept)).equals(BYTES)).toBe(true);
    await died(uploadAndKill(server));
    expect(await blobsAfterSweep(server, settings)).toBe(1);
  });

  test('at any failpoint of uploads and of a deletion has whole files only', { tags: ['soak'] }, async () => {
    const { server, settings } = await startServer('blob.before-whole');
    await using _ = server;
    await died(upload(server));
    await server.diesByItself('blob.before-whole');

    // The client tries again.
    await server.start('blob.after-whole');
    expect(await filesOf(server)).toEqual([]);
    await died(upload(server));
    await server.diesByItself('blob.after-whole');

    await server.start('file.after-create');
    expect(await filesOf(server)).toEqual([]);
    await died(upload(server));
    await server.diesByItself('file.after-create');

    await server.start('file.after-delete');
    const [kept, ...others] = await filesOf(server);
    expect(others).toEqual([]);
    expect((await contentOf(server, kept!)).equals(BYTES)).toBe(true);
    const deleted = await upload(server);
    expect((await contentOf(server, deleted)).equals(BYTES)).toBe(true);
    await died(server.api.request('DELETE', `/v1/files/${deleted.id}`));
    await server.diesByItself('file.after-delete');

    await server.start();
    expect((await filesOf(server)).map(({ id }) => id)).toEqual([kept!.id]);
    expect((await server.api.get(`/v1/files/${deleted.id}`)).status).toBe(404);
    await died(uploadAndKill(server));

    await server.start();
    expect((await filesOf(server)).map(({ id }) => id)).toEqual([kept!.id]);
    expect((await contentOf(server, kept!)).equals(BYTES)).toBe(true);
    await server.kill();
    expect(await blobsAfterSweep(server, settings)).toBe(1);
  });

  test('at any time during many uploads has whole files only', { tags: ['soak'] }, async () => {
    const { server, settings } = await startServer();
    await using _ = server;
    const known = new Set<string>();
    for (let round = 0; round < 4; round++) {
      const uploads = Array.from({ length: 8 }, async () => known.add((await upload(server)).id));
      const settled = Promise.allSettled(uploads);
      await waitFor('some of them', () => known.size > round * 2);
      await server.kill();
      await settled;
      await server.start();
      const files = await filesOf(server);
      for (const id of known) expect(files.map((file) => file.id)).toContain(id);
      for (const file of files) expect((await contentOf(server, file)).equals(BYTES)).toBe(true);
    }
    const count = (await filesOf(server)).length;
    await server.kill();
    expect(await blobsAfterSweep(server, settings)).toBe(count);
  });
});
