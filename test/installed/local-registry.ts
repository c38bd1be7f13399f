/**
 * The registry of an installation without a network: the packages of this repository as npm packed them, and everything
 * else that is installed in it, in the installed versions.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, dirname, join } from 'node:path';

/** A version of a package and where it is: a folder, or a tarball of ours. */
interface Release {
  manifest: { name: string; version: string };
  path: string;
}

export class LocalRegistry implements AsyncDisposable {
  readonly #releases: Release[];
  readonly #server: Server;

  /** `root` has the `node_modules` to serve from, `tarballs` holds what was packed. */
  static async start(root: string, tarballs: string): Promise<LocalRegistry> {
    const registry = new LocalRegistry([...packed(tarballs), ...installed(root)]);
    registry.#server.listen(0, '127.0.0.1');
    await once(registry.#server, 'listening');
    return registry;
  }

  private constructor(releases: Release[]) {
    this.#releases = releases;
    this.#server = createServer((request, response) => {
      const path = decodeURIComponent(request.url ?? '').slice(1);
      if (path.startsWith('-/')) this.#sendTarball(Number(path.slice(2)), response);
      else this.#sendVersions(path, response);
    });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #sendVersions(name: string, response: ServerResponse): void {
    const releases = this.#releases.filter(({ manifest }) => manifest.name === name);
    if (releases[0] === undefined) {
      response.writeHead(404).end('{}');
      return;
    }
    const versions = releases.map((release) => {
      const dist = { tarball: `${this.url}/-/${this.#releases.indexOf(release)}` };
      return [release.manifest.version, { ...release.manifest, dist }] as const;
    });
    const latest = releases[0].manifest.version;
    response.end(JSON.stringify({ name, 'dist-tags': { latest }, versions: Object.fromEntries(versions) }));
  }

  #sendTarball(index: number, response: ServerResponse): void {
    const { path } = this.#releases[index]!;
    if (path.endsWith('.tgz')) {
      response.end(readFileSync(path));
      return;
    }
    const folder = basename(path);
    // What is installed inside a package is not part of it. Not compressed: npm accepts that, and one of them is a
    // whole Node.
    const words = ['-c', `--exclude=${folder}/node_modules`, '-C', dirname(path), folder];
    spawn('tar', words, { stdio: ['ignore', 'pipe', 'inherit'] }).stdout.pipe(response);
  }
}

function packed(directory: string): Release[] {
  return readdirSync(directory).map((name) => {
    const path = join(directory, name);
    const manifest = execFileSync('tar', ['-xOzf', path, 'package/package.json'], { encoding: 'utf8' });
    return { manifest: JSON.parse(manifest), path };
  });
}

/** From npm's own list of what it installed, in which a package at the top comes before the same one further down. */
function installed(root: string): Release[] {
  const list = JSON.parse(readFileSync(join(root, 'node_modules', '.package-lock.json'), 'utf8'));
  const folders = Object.entries<{ link?: boolean }>(list.packages)
    .filter(([path, { link }]) => path.startsWith('node_modules/') && link !== true)
    .map(([path]) => join(root, path))
    .sort((a, b) => a.split('node_modules').length - b.split('node_modules').length);
  return folders.map((path) => ({
    manifest: JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')),
    path,
  }));
}
