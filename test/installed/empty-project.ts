/**
 * The packages as a user gets them: packed by npm from a copy of the repository (packing rewrites package.json for a
 * moment, which nobody else should see), and installed into an empty project, without a network.
 */
import { execFile, execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { LocalRegistry } from './local-registry.ts';

const execute = promisify(execFile);

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TSC = fileURLToPath(import.meta.resolve('typescript/package.json')).replace('package.json', 'bin/tsc');
const MODULES = join(ROOT, 'node_modules');

interface Manifest {
  exports: Record<string, Record<string, string>>;
  imports?: Record<string, Record<string, string>>;
  [field: string]: unknown;
}

export class EmptyProject implements Disposable {
  readonly directory = mkdtempSync(join(tmpdir(), 'talaria-installed-'));

  /** Installs `wanted` with its dependencies. `names` are our packages that this needs. */
  static async install(names: readonly string[], wanted: readonly string[]): Promise<EmptyProject> {
    const project = new EmptyProject();
    project.write('package.json', JSON.stringify({ private: true, type: 'module' }));
    const copy = mkdtempSync(join(tmpdir(), 'talaria-copy-'));
    try {
      copyRepository(copy, names);
      const tarballs = join(copy, 'tarballs');
      mkdirSync(tarballs);
      const folders = names.map((name) => `./packages/${name}`);
      await npm(copy, ['pack', ...folders, '--pack-destination', tarballs]);
      await using registry = await LocalRegistry.start(ROOT, tarballs);
      const cache = ['--cache', join(copy, 'npm-cache')];
      await npm(project.directory, ['install', ...wanted, '--registry', registry.url, ...cache]);
    } finally {
      rmSync(copy, { recursive: true, force: true });
    }
    return project;
  }

  /** The files of an installed package, without what is installed inside it. */
  filesOf(name: string): string[] {
    const directory = join(this.directory, 'node_modules', name);
    return readdirSync(directory, { recursive: true, encoding: 'utf8' })
      .filter((path) => !path.startsWith('node_modules') && statSync(join(directory, path)).isFile())
      .sort();
  }

  manifestOf(name: string): Manifest {
    return JSON.parse(readFileSync(join(this.directory, 'node_modules', name, 'package.json'), 'utf8'));
  }

  /** Compiles files of the project; throws with the compiler's output. */
  async compile(files: readonly string[], compilerOptions: object): Promise<void> {
    this.write(
      'tsconfig.json',
      JSON.stringify({ compilerOptions: { strict: true, ...compilerOptions }, files }),
    );
    await this.run(process.execPath, [TSC, '-p', '.']);
  }

  write(name: string, text: string): string {
    const path = join(this.directory, name);
    writeFileSync(path, text);
    return path;
  }

  /** Runs a program in the project and returns its output; throws with the output when it fails. */
  async run(program: string, args: readonly string[], env: Record<string, string> = {}): Promise<string> {
    const options = { cwd: this.directory, env: { PATH: process.env.PATH, ...env }, timeout: 120_000 };
    try {
      return (await execute(program, args, options)).stdout;
    } catch (error) {
      const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
      throw new Error(`${program} ${args.join(' ')} failed:\n${stdout}${stderr}`, { cause: error });
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** The machine's own Node, apart from the project's, and its PATH. */
export function outsideNode(): { path: string; version: string; searchPath: string } {
  const directories = (process.env.PATH ?? '')
    .split(delimiter)
    .filter((each) => !each.includes('node_modules'));
  const path = directories.map((each) => join(each, 'node')).find((each) => existsSync(each)) ?? '';
  const version = path === '' ? '' : execFileSync(path, ['--version'], { encoding: 'utf8' }).trim().slice(1);
  return { path, version, searchPath: directories.join(delimiter) };
}

function copyRepository(copy: string, names: readonly string[]): void {
  for (const file of ['package.json', 'tsconfig.json', 'tsconfig.portable.json', 'LICENSE', 'packaging']) {
    cpSync(join(ROOT, file), join(copy, file), { recursive: true });
  }
  const ours = join(copy, 'node_modules', '@talaria');
  mkdirSync(ours, { recursive: true });
  for (const name of names) {
    const filter = (source: string) => !/\/(dist|node_modules)$/.test(source);
    cpSync(join(ROOT, 'packages', name), join(copy, 'packages', name), { recursive: true, filter });
    symlinkSync(join(copy, 'packages', name), join(ours, name));
  }
  for (const name of readdirSync(MODULES).filter((entry) => entry !== '@talaria' && !entry.startsWith('.'))) {
    symlinkSync(join(MODULES, name), join(copy, 'node_modules', name));
  }
}

async function npm(cwd: string, args: readonly string[]): Promise<void> {
  const options = ['--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error'];
  // No setting of the machine leads to another registry or through a proxy.
  const alone = [`--userconfig=${join(cwd, 'no-npmrc')}`, '--noproxy=127.0.0.1', '--fetch-retries=0'];
  await execute('npm', [...args, ...options, ...alone], {
    cwd,
    // The scripts of a package run on the Node that runs this.
    env: { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}` },
  });
}
