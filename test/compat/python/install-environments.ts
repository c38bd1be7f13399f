/**
 * Installs virtual environments where Python and its package index are there, and otherwise says why not: what needs them
 * is then skipped by name. What is installed already is left as it is.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE, COMPLETE, type Environment, isInstalled } from './environments.ts';

const UV_VERSION = '0.13.7';
const OLDEST_PYTHON = [3, 11];

export function installEnvironments(environments: readonly Environment[]): void {
  const missing = environments.filter((environment) => !isInstalled(environment));
  if (missing.length === 0) return;
  const uv = findUv();
  if (typeof uv === 'string') for (const environment of missing) install(uv, environment);
  else console.log(`Not installed: ${missing.map(({ name }) => name).join(', ')}: ${uv.reason}`);
}

function install(uv: string, { name, requirements, directory }: Environment): void {
  rmSync(directory, { recursive: true, force: true });
  execFileSync(uv, ['venv', '--quiet', '--python', 'python3', directory], { stdio: 'inherit' });
  const target = ['--python', directory, '--requirements', requirements];
  execFileSync(uv, ['pip', 'install', '--quiet', '--compile-bytecode', ...target], { stdio: 'inherit' });
  writeFileSync(join(directory, COMPLETE), '');
  console.log(`${name} is installed in ${directory}`);
}

/** The installer, itself from the package index; or why there is none. */
function findUv(): string | { reason: string } {
  let version: string;
  try {
    version = execFileSync('python3', ['-c', 'import sys; print(*sys.version_info[:2])'], {
      encoding: 'utf8',
    });
  } catch {
    return { reason: 'python3 is not there' };
  }
  const [major = 0, minor = 0] = version.split(' ').map(Number);
  if (major < OLDEST_PYTHON[0]! || (major === OLDEST_PYTHON[0] && minor < OLDEST_PYTHON[1]!)) {
    return { reason: `Python ${OLDEST_PYTHON.join('.')} or newer is needed, python3 is ${major}.${minor}` };
  }
  const directory = join(CACHE, `uv-${UV_VERSION}`);
  const program = join(directory, 'bin/uv');
  if (existsSync(program)) return program;
  mkdirSync(CACHE, { recursive: true });
  try {
    execFileSync('python3', ['-m', 'venv', directory], { stdio: 'pipe' });
    execFileSync(join(directory, 'bin/pip'), ['install', '--quiet', `uv==${UV_VERSION}`], { stdio: 'pipe' });
  } catch (error) {
    rmSync(directory, { recursive: true, force: true });
    const { stderr } = error as { stderr?: Buffer };
    return { reason: `uv could not be installed: ${stderr?.toString().trim().split('\n').at(-1) ?? error}` };
  }
  return program;
}
