/** How the client talks to the daemon, with a fake one; docker-backend.test.ts uses the real one. */
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DockerApi, DockerRefusal } from './docker-api.ts';

let dir: string;
let server: Server | undefined;
let requests: string[];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'talaria-api-'));
  requests = [];
});

afterEach(async () => {
  server?.closeAllConnections();
  if (server) await new Promise((resolve) => server?.close(resolve));
  server = undefined;
  await rm(dir, { recursive: true });
});

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

async function play(
  version: object,
  answer: Answer = (_, response) => response.end('{}'),
): Promise<DockerApi> {
  const path = join(dir, 'docker.sock');
  server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    if (request.url === '/version') response.end(JSON.stringify(version));
    else answer(request, response);
  });
  await new Promise<void>((resolve) => server?.listen(path, resolve));
  return new DockerApi(`unix://${path}`);
}

describe('the version', () => {
  test.each([
    ['Docker 20.10', { ApiVersion: '1.41', MinAPIVersion: '1.12' }, '/v1.41/info'],
    ['a newer one that still knows it', { ApiVersion: '1.50', MinAPIVersion: '1.24' }, '/v1.41/info'],
    ['one that has dropped it', { ApiVersion: '1.52', MinAPIVersion: '1.44' }, '/v1.44/info'],
    ['one that does not say what it has dropped', { ApiVersion: '1.41' }, '/v1.41/info'],
  ])('of %s', async (_, version, path) => {
    const api = await play(version);
    await api.info();
    await api.info();
    expect(requests).toEqual(['GET /version', `GET ${path}`, `GET ${path}`]);
  });

  test('of a daemon that is too old is refused, and the error names the required one', async () => {
    const api = await play({ ApiVersion: '1.9', MinAPIVersion: '1.1' });
    await expect(api.info()).rejects.toMatchObject({
      code: 'backend_down',
      message: expect.stringContaining('20.10'),
    });
  });
});

describe('answers', () => {
  const VERSION = { ApiVersion: '1.41' };

  test("a refusal has the daemon's message", async () => {
    const api = await play(VERSION, (_, response) => {
      response.statusCode = 409;
      response.end('{"message":"no room left"}');
    });
    const refused = await api.createContainer('name', {}).catch((error) => error);
    expect(refused).toBeInstanceOf(DockerRefusal);
    expect(refused).toMatchObject({ status: 409, message: 'Docker refused: no room left' });
  });

  test('removing something that is gone succeeds', async () => {
    const api = await play(VERSION, (_, response) => {
      response.statusCode = 404;
      response.end('{"message":"No such container"}');
    });
    await api.removeContainer('gone');
    expect(requests).toContain('DELETE /v1.41/containers/gone?force=1&v=1');
  });

  test('waits for what another is removing', async () => {
    let left = 2;
    const api = await play(VERSION, (request, response) => {
      if (request.method === 'DELETE') response.statusCode = --left > 0 ? 409 : 404;
      response.end('{"message":"removal is already in progress"}');
    });
    await api.removeContainer('x');
    expect(requests.slice(1)).toEqual([
      'DELETE /v1.41/containers/x?force=1&v=1',
      'POST /v1.41/containers/x/wait?condition=removed',
      'DELETE /v1.41/containers/x?force=1&v=1',
    ]);
  });

  test('an aborted call rejects', async () => {
    const api = await play(VERSION, () => {});
    const signal = AbortSignal.timeout(50);
    await expect(api.waitForExit('x', signal)).rejects.toMatchObject({ name: 'AbortError' });
  });

  test('a daemon that hangs up is down', async () => {
    const api = await play(VERSION, (request) => request.socket.destroy());
    await expect(api.info()).rejects.toMatchObject({ code: 'backend_down' });
  });
});

test.each([
  [
    'a socket that is not there',
    'unix:///nowhere/docker.sock',
    /does not answer at unix:.*\(ENOENT\).*start it.*DOCKER_HOST/,
  ],
  ['a port where nobody listens', 'tcp://127.0.0.1:1', /does not answer at tcp:.*\(ECONNREFUSED\)/],
])('%s is reported with what to do', async (_, host, message) => {
  await expect(new DockerApi(host).info()).rejects.toMatchObject({
    code: 'backend_down',
    message: expect.stringMatching(message),
  });
});
