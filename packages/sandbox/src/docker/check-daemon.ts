/** What a daemon has to be before containers of ours are started by it. Each refusal says what to change. */
import { SandboxError } from '../errors.ts';
import type { DaemonInfo, DockerApi } from './docker-api.ts';

/** Without them a limit would be taken and ignored. */
const ENFORCED: [keyof DaemonInfo, string][] = [
  ['MemoryLimit', 'memory'],
  ['SwapLimit', 'swap'],
  ['PidsLimit', 'processes'],
  ['CpuCfsQuota', 'CPU'],
];

export interface CheckedDaemon {
  securityOptions: readonly string[];
  processors: number;
}

export async function checkDaemon(api: DockerApi, image: string): Promise<CheckedDaemon> {
  const info = await api.info();
  const options = info.SecurityOptions ?? [];
  if (options.some((option) => option.split(',').includes('name=rootless'))) {
    throw new SandboxError(
      'isolation_unavailable',
      'Docker runs rootless here: its containers could not write to the workspaces. Use a daemon that runs as root, or the local backend.',
    );
  }
  const missing = ENFORCED.filter(([name]) => info[name] !== true).map(([, what]) => what);
  if (missing.length > 0) {
    throw new SandboxError(
      'isolation_unavailable',
      `Docker cannot limit ${missing.join(', ')} here: switch the kernel's control groups for it on (docker info names them).`,
    );
  }
  if (!(await api.hasImage(image))) {
    throw new SandboxError(
      'container_failed',
      `The image ${image} is not on this machine: run docker pull ${image}, or name another.`,
    );
  }
  return { securityOptions: options, processors: info.NCPU };
}
