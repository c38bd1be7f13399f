/** Docker, where the sandbox needs it: a daemon that answers, and the image. Elsewhere, whether it could be used. */
import { DockerApi } from '@talaria/sandbox/docker';
import type { Config } from '../../../config/index.ts';
import type { Finding } from '../finding.ts';

export async function checkDocker({ backend, dockerHost, dockerImage = '' }: Config): Promise<Finding> {
  const used = backend === 'docker';
  const unused = `not used: TALARIA_BACKEND is ${backend}`;
  let version: string;
  const api = new DockerApi(dockerHost);
  try {
    version = (await api.info()).ServerVersion ?? 'of an unknown version';
  } catch (error) {
    if (!used) return { status: 'ok', detail: `${unused}; no daemon answers at ${dockerHost}` };
    const fix = 'Start Docker, let this user reach its socket, or use TALARIA_BACKEND=local (docs/docker.md)';
    return { status: 'failed', detail: (error as Error).message, fix };
  }
  const name = `${version} at ${dockerHost}`;
  if (!used) return { status: 'ok', detail: `${unused}; ${name} answers` };
  if (await api.hasImage(dockerImage)) return { status: 'ok', detail: `${name}, image ${dockerImage}` };
  return {
    status: 'failed',
    detail: `${name} has no image ${dockerImage}`,
    fix: `docker pull ${dockerImage}`,
  };
}
