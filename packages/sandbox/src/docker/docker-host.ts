/** The address of Docker's daemon, according to `DOCKER_HOST`. */
import type { RequestOptions } from 'node:http';
import { SandboxError } from '../errors.ts';

export const DEFAULT_DOCKER_HOST = 'unix:///var/run/docker.sock';

export type DockerEndpoint = Pick<RequestOptions, 'socketPath' | 'host' | 'port'>;

export function parseDockerHost(host: string): DockerEndpoint {
  if (host.startsWith('unix://')) {
    const socketPath = host.slice('unix://'.length);
    if (socketPath.startsWith('/')) return { socketPath };
  }
  if (host.startsWith('tcp://')) {
    const url = URL.parse(`http://${host.slice('tcp://'.length)}`);
    if (url && url.hostname !== '' && url.pathname === '/') {
      return { host: url.hostname.replace(/^\[|\]$/g, ''), port: url.port === '' ? 2375 : Number(url.port) };
    }
  }
  throw new SandboxError(
    'invalid_request',
    `DOCKER_HOST should be unix:///path/to/docker.sock or tcp://host:port, not ${host}.`,
  );
}
