/**
 * The builder of the fake's images. Of an image's files it has those at /talaria; the others are this machine's. The
 * commands of a layer really run, and the same layer on the same image is the same image.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { copyFile, link, mkdir, realpath, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { startInNamespaces } from './namespaces.ts';

export class FakeImages {
  /** Tags that no registry has. */
  readonly missing = new Set<string>();
  /** How many layers were built, and not found. */
  built = 0;
  readonly #dir: string;
  readonly #known = new Map<string, Promise<string | undefined>>();

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** The id, and why it was not built if it was not. */
  async build(
    commands: readonly string[],
    base: string | undefined,
  ): Promise<{ id: string; failure?: string | undefined }> {
    const hash = createHash('sha256').update(JSON.stringify([commands, base]));
    const id = `im-${hash.digest('hex').slice(0, 22)}`;
    let building = this.#known.get(id);
    if (!building) {
      building = this.#build(id, commands, base);
      this.#known.set(id, building);
    }
    return { id, failure: await building };
  }

  /** Its files as a new directory's. Nobody writes to them, so they are linked. */
  async unpack(id: string, dir: string): Promise<void> {
    await mkdir(dir, { recursive: true });
    linkTree(this.#filesOf(id), join(dir, 'image'));
  }

  async #build(
    id: string,
    commands: readonly string[],
    base: string | undefined,
  ): Promise<string | undefined> {
    this.built++;
    const dir = join(this.#dir, `${id}-being-built`);
    if (base === undefined) await mkdir(join(dir, 'image'), { recursive: true });
    else await this.unpack(base, dir);
    for (const command of commands) {
      const failure = await this.#carryOut(command, dir);
      if (failure !== undefined) return failure;
    }
    await rename(dir, join(this.#dir, id));
    return undefined;
  }

  async #carryOut(command: string, dir: string): Promise<string | undefined> {
    const [word, ...rest] = command.split(' ');
    switch (word) {
      case 'FROM':
        return this.missing.has(rest[0] ?? '') ? `there is no image ${rest[0]}` : undefined;
      case 'COPY':
        return await copyNode(rest, dir);
      case 'RUN':
        return await run(rest.join(' '), dir);
      default:
        return `the builder has no ${word}`;
    }
  }

  #filesOf(id: string): string {
    return join(this.#dir, id, 'image');
  }
}

/** `COPY --from=node:… /usr/local/bin/node <to>`, which is the only thing that is copied from an image. */
async function copyNode([from, source, to]: readonly string[], dir: string): Promise<string | undefined> {
  if (!from?.startsWith('--from=node:') || source !== '/usr/local/bin/node' || !to?.startsWith('/talaria/'))
    return `there is nothing to copy for ${from} ${source} ${to}`;
  const target = join(dir, 'image', to.slice('/talaria/'.length));
  await mkdir(dirname(target), { recursive: true });
  const node = await realpath(process.execPath);
  await link(node, target).catch(() => copyFile(node, target));
  return undefined;
}

async function run(command: string, dir: string): Promise<string | undefined> {
  const child = await startInNamespaces(['sh', '-c', command], { dir, network: true });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
  const [code] = child.exitCode === null ? await once(child, 'close') : [child.exitCode];
  return code === 0 ? undefined : `RUN ended with ${code}: ${said}`;
}

function linkTree(from: string, to: string): void {
  const { status, stderr } = spawnSync('cp', ['-al', from, to], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`cp: ${stderr}`);
}
