/** Docker: a daemon that answers, the image and the runtime. Where another backend is used, whether Docker could be. */
import { type DaemonInfo, DockerApi, knowsRuntime } from '@talaria/sandbox/docker';
import { requiredImage } from '../../../config/backend-rules.ts';
import type { Config } from '../../../config/index.ts';
import type { Finding } from '../finding.ts';

export async function checkDocker(config: Config): Promise<Finding> {
  const { dockerHost, dockerRuntime } = config;
  const dockerImage = requiredImage(config, 'dockerImage');
  const api = new DockerApi(dockerHost);
  let daemon: DaemonInfo;
  try {
    daemon = await api.info();
  } catch (error) {
    const fix = 'Start Docker, let this user reach its socket, or use TALARIA_BACKEND=local (docs/docker.md)';
    return { status: 'failed', detail: (error as Error).message, fix };
  }
  const name = describe(daemon, dockerHost);
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

export async function findUnusedDocker({ dockerHost }: Config): Promise<string> {
  try {
    return `${describe(await new DockerApi(dockerHost).info(), dockerHost)} answers`;
  } catch {
    return `no daemon answers at ${dockerHost}`;
  }
}

function describe({ ServerVersion: version = 'of an unknown version' }: DaemonInfo, host: string): string {
  return `${version} at ${host}`;
}
