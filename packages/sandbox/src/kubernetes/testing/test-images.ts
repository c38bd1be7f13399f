/** Images for a containerd of the test's own, as archives that it imports: no registry and no build is needed. */

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { imageContext } from '../../containers/image/image-context.ts';
import { packTestRoot } from '../../docker/testing/test-image.ts';

const run = promisify(execFile);

/** With the program of this package, as `talaria sandbox-image` adds it. */
export const SANDBOX_IMAGE = 'talaria.test/sandbox:1';
/** An image without that program. */
export const PLAIN_IMAGE = 'talaria.test/plain:1';
/** Its container holds the namespaces of a pod. */
export const PAUSE_IMAGE = 'talaria.test/pause:1';

/** All three, in one archive. */
export async function packImages(dir: string): Promise<string> {
  const archive = join(dir, 'archive');
  await mkdir(archive);
  {
    await using root = await packTestRoot();
    await copyFile(root.path, join(archive, 'root.tar'));
  }
  // Its Dockerfile becomes a file of the image, and disturbs nobody.
  await pipeline(imageContext('scratch'), createWriteStream(join(archive, 'program.tar')));
  const [root, program] = await Promise.all(['root.tar', 'program.tar'].map((name) => layer(archive, name)));
  if (!root || !program) throw new Error('no layers');
  const images = [
    await image(archive, SANDBOX_IMAGE, [root, program], []),
    await image(archive, PLAIN_IMAGE, [root], []),
    await image(archive, PAUSE_IMAGE, [root], ['sleep', 'infinity']),
  ];
  await writeFile(join(archive, 'manifest.json'), JSON.stringify(images));
  const path = join(dir, 'images.tar');
  await run('tar', ['-C', archive, '-cf', path, '.']);
  await rm(archive, { recursive: true });
  return path;
}

interface Layer {
  name: string;
  digest: string;
}

async function layer(dir: string, name: string): Promise<Layer> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(join(dir, name)), hash);
  return { name, digest: `sha256:${hash.digest('hex')}` };
}

async function image(dir: string, name: string, layers: Layer[], command: string[]): Promise<object> {
  const config = JSON.stringify({
    architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
    os: 'linux',
    config: { Cmd: command, Env: ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'] },
    rootfs: { type: 'layers', diff_ids: layers.map(({ digest }) => digest) },
  });
  const file = `${createHash('sha256').update(config).digest('hex')}.json`;
  await writeFile(join(dir, file), config);
  return { Config: file, RepoTags: [name], Layers: layers.map((each) => each.name) };
}
