/** gVisor's runtime for tests, found by the script that builds it (test/backends/build-runsc), and never built here. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { whyNoDocker } from './docker-daemon.ts';

const SCRIPT = fileURLToPath(new URL('../../../../../test/backends/build-runsc', import.meta.url));

/** The path of runsc, or why tests on this machine have none. */
export async function findRunsc(): Promise<{ path: string } | { missing: string }> {
  const missing = process.env.DOCKER_HOST
    ? 'the daemon of DOCKER_HOST has runtimes of its own'
    : await whyNoDocker();
  if (missing !== undefined) return { missing };
  try {
    const { stdout } = await promisify(execFile)(SCRIPT, ['--find']);
    return { path: stdout.trim() };
  } catch (error) {
    return { missing: (error as { stderr: string }).stderr.trim() };
  }
}
