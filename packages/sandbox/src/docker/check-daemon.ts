/** Checks a daemon before we start containers on it. Each refusal says what to change. */
import { SandboxError } from '../errors.ts';
import type { DaemonInfo, DockerApi } from './docker-api.ts';

/** Docker finds a runtime of this form by itself, without its configuration. */
const BY_PROGRAM = /^io\.containerd\./;

export interface Wanted {
  image: string;
  runtime?: string | undefined;
}

export async function checkDaemon(api: DockerApi, { image, runtime }: Wanted): Promise<DaemonInfo> {
  const info = await api.info();
  if (hasSecurityOption(info, 'rootless')) {
    throw new SandboxError(
      'isolation_unavailable',
      'Docker runs rootless here: its containers could not write to the workspaces. Use a daemon that runs as root, or the local backend.',
    );
  }
  if (!(await api.hasImage(image))) {
    throw new SandboxError(
      'container_failed',
      `The image ${image} is not on this machine: run docker pull ${image}, or name another.`,
    );
  }
  if (runtime !== undefined && !knowsRuntime(info, runtime)) {
    const known = Object.keys(info.Runtimes ?? {}).join(', ');
    throw new SandboxError(
      'isolation_unavailable',
      `Docker has no runtime ${runtime}; it has ${known}. Add it to "runtimes" in the configuration of the daemon (/etc/docker/daemon.json) and restart the daemon, or name another.`,
    );
  }
  return info;
}

export function knowsRuntime({ Runtimes = {} }: DaemonInfo, runtime: string): boolean {
  return Object.hasOwn(Runtimes, runtime) || BY_PROGRAM.test(runtime);
}

/** The daemon lists them as `name=apparmor,…`. */
export function hasSecurityOption({ SecurityOptions = [] }: DaemonInfo, name: string): boolean {
  return SecurityOptions.some((option) => option.split(',').includes(`name=${name}`));
}
