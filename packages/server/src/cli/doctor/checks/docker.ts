/** Docker, where the sandbox needs it: a daemon that answers, the image and the runtime. Elsewhere, whether it could be used. */
import { type DaemonInfo, DockerApi, knowsRuntime } from '@talaria/sandbox/docker';
import type { Config } from '../../../config/index.ts';
import type { Finding } from '../finding.ts';

export async function checkDocker(config: Config): Promise<Finding> {
  const { backend, dockerHost, dockerImage = '', dockerRuntime } = config;
  const used = backend === 'docker';
  const unused = `not used: TALARIA_BACKEND is ${backend}`;
  let daemon: DaemonInfo;
  const api = new DockerApi(dockerHost);
  try {
    daemon = await api.info();
  } catch (error) {
    if (!used) return { status: 'ok', detail: `${unused}; no daemon answers at ${dockerHost}` };
    const fix = 'Start Docker, let this user reach its socket, or use TALARIA_BACKEND=local (docs/docker.md)';
    return { status: 'failed', detail: (error as Error).message, fix };
  }
  const name = `${daemon.ServerVersion ?? 'of an unknown version'} at ${dockerHost}`;
  if (!used) return { status: 'ok', detail: `${unused}; ${name} answers` };
  if (!(await api.hasImage(dockerImage))) {
    const fix = `docker pull ${dockerImage}`;
    return { status: 'failed', detail: `${name} has no image ${dockerImage}`, fix };
  }
  const image = `${name}, image ${dockerImage}`;
  if (dockerRuntime === undefined) return { status: 'ok', detail: image };
  if (knowsRuntime(daemon, dockerRuntime))
    return { status: 'ok', detail: `${image}, runtime ${dockerRuntime}` };
  return {
    status: 'failed',
    detail: `${name} has no runtime ${dockerRuntime}`,
    fix: 'Add it to "runtimes" in /etc/docker/daemon.json and restart Docker (docs/isolation.md)',
  };
}
