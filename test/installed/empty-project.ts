/**
 * The packages as somebody gets them: packed by npm from a copy of the repository (packing rewrites package.json for a
 * moment, which nobody else should see), and installed into an empty project, without a network.
 */
import { execFile, execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const execute = promisify(execFile);

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MODULES = join(ROOT, 'node_modules');

export class EmptyProject implements Disposable {
  readonly directory = mkdtempSync(join(tmpdir(), 'talaria-installed-'));

  /** `names` are the packages of ours, `others` what they depend on, taken from the tree of this repository. */
  static install(names: readonly string[], others: readonly string[]): EmptyProject {
    const project = new EmptyProject();
    project.write('package.json', JSON.stringify({ private: true, type: 'module' }));
    const copy = mkdtempSync(join(tmpdir(), 'talaria-copy-'));
    try {
      copyRepository(copy, names);
      const tarballs = join(copy, 'tarballs');
      mkdirSync(tarballs);
      npm(copy, 'pack', ...names.map((name) => `./packages/${name}`), '--pack-destination', tarballs);
      const folders = others.map((name) => join(MODULES, name));
      npm(copy, 'pack', '--ignore-scripts', ...folders, '--pack-destination', tarballs);
      const files = readdirSync(tarballs).map((name) => join(tarballs, name));
      npm(project.directory, 'install', '--offline', ...files);
    } finally {
      rmSync(copy, { recursive: true, force: true });
    }
    return project;
  }

  write(name: string, text: string): string {
    const path = join(this.directory, name);
    writeFileSync(path, text);
    return path;
  }

  /** Runs a program in the project and returns what it prints; throws with that when it fails. */
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

function npm(cwd: string, ...args: string[]): void {
  const cache = join(cwd, '.npm-cache');
  const options = [`--cache=${cache}`, '--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error'];
  execFileSync('npm', [...args, ...options], {
    cwd,
    stdio: ['ignore', 'ignore', 'inherit'],
    // The scripts of a package run on the Node that runs this.
    env: { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}` },
  });
}
