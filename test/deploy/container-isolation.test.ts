/**
 * With the options of compose.yaml bubblewrap works in a container, for a user who is not root and has no capabilities,
 * and on a read-only root file system. The image is made of this machine's programs: no registry is needed.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import {
  openTestDaemon,
  TEST_IMAGE,
  whyNoDocker,
} from '../../packages/sandbox/src/docker/testing/docker-daemon.ts';
import { hasYaml, readYaml, whyNoYaml } from './read-yaml.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const isRoot = process.getuid?.() === 0;
/** That of the image, where its files can be made for it. */
const USER = isRoot ? 10001 : (process.getuid?.() ?? 0);

const hasCommand = spawnSync('docker', ['--version']).status === 0;
const missing =
  (await whyNoDocker()) ?? (hasCommand ? (hasYaml ? undefined : whyNoYaml) : 'docker is not installed');

test.skipIf(missing !== undefined)(
  `commands are isolated in a container with the options of compose.yaml${missing ? ` (skipped: ${missing})` : ''}`,
  { tags: ['soak'], timeout: 120_000 },
  async () => {
    await using daemon = await openTestDaemon();
    const dataDir = mkdtempSync(join(tmpdir(), 'talaria-test-'));
    if (isRoot) chownSync(dataDir, USER, USER);
    const [compose] = readYaml<{ 'x-server': { security_opt: string[]; cap_drop: string[] } }>(
      'compose.yaml',
    );
    const { security_opt: options, cap_drop: dropped } = compose!['x-server'];
    const words = [
      ...['-H', daemon.host, 'run', '--rm', '--init', '--network=none', `--user=${USER}:${USER}`],
      ...['--read-only', '--tmpfs=/tmp', `--volume=${dataDir}:/data`, '--env=TALARIA_DATA_DIR=/data'],
      ...[`--volume=${ROOT}:/opt/talaria:ro`, `--volume=${realpathSync(process.execPath)}:/usr/bin/node:ro`],
      ...options.map((option) => `--security-opt=${option.replace('=./', `=${ROOT}/deploy/`)}`),
      ...dropped.map((capability) => `--cap-drop=${capability}`),
      ...[TEST_IMAGE, '/usr/bin/node', '/opt/talaria/packages/server/bin/talaria.js', 'serve'],
    ];
    const container = spawn('docker', words, { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [container.stdout, container.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        if (output.includes('Try it') && !container.killed) container.kill('SIGTERM');
      });
    }
    const [code] = await once(container, 'close');
    expect(output).toMatch(/^ {2}sandbox {2}bubblewrap: every command runs in its own namespaces/m);
    expect(code, output).toBe(0);
    rmSync(dataDir, { recursive: true });
  },
);
