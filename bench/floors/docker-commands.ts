/**
 * Floors of a sandbox in Docker, through Docker's API over its socket: `docker exec` of a shell with nothing to do, and
 * a container from its creation to its start.
 */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { parseDockerHost } from '../../packages/sandbox/src/docker/docker-host.ts';

const SHELL = ['bash', '-c', 'true'];

export async function dockerExec(host: string, containerId: string): Promise<void> {
  const { Id } = await post<{ Id: string }>(host, `/containers/${containerId}/exec`, {
    AttachStdout: true,
    AttachStderr: true,
    Cmd: SHELL,
  });
  // The response is the output, which ends with the command.
  await post(host, `/exec/${Id}/start`, { Detach: false });
  const { ExitCode } = await call<{ ExitCode: number }>(host, 'GET', `/exec/${Id}/json`);
  if (ExitCode !== 0) throw new Error(`docker exec ended with ${ExitCode}`);
}

/** Returns how it is removed. */
export async function startBareContainer(host: string, image: string): Promise<() => Promise<void>> {
  const { Id } = await post<{ Id: string }>(host, '/containers/create', {
    Image: image,
    Cmd: ['sleep', '600'],
    HostConfig: { NetworkMode: 'none' },
  });
  await post(host, `/containers/${Id}/start`);
  return () => call(host, 'DELETE', `/containers/${Id}?force=1`);
}

function post<T>(host: string, path: string, body: object = {}): Promise<T> {
  return call(host, 'POST', path, JSON.stringify(body));
}

async function call<T>(host: string, method: string, path: string, body?: string): Promise<T> {
  const headers = { host: 'docker', ...(body === undefined ? {} : { 'content-type': 'application/json' }) };
  const outgoing = request({ ...parseDockerHost(host), method, path, headers });
  outgoing.end(body);
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  const text = Buffer.concat(await answer.toArray()).toString();
  if ((answer.statusCode ?? 500) >= 400) throw new Error(`${method} ${path}: ${answer.statusCode} ${text}`);
  return answer.headers['content-type']?.startsWith('application/json') ? JSON.parse(text) : (undefined as T);
}
