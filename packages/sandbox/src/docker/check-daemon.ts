/** What a daemon has to be before containers of ours are started by it. Each refusal says what to change. */
import { SandboxError } from '../errors.ts';
import type { DaemonInfo, DockerApi } from './docker-api.ts';

export async function checkDaemon(api: DockerApi, image: string): Promise<DaemonInfo> {
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
  return info;
}

/** The daemon lists them as `name=apparmor,…`. */
export function hasSecurityOption({ SecurityOptions = [] }: DaemonInfo, name: string): boolean {
  return SecurityOptions.some((option) => option.split(',').includes(`name=${name}`));
}
