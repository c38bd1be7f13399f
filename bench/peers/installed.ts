/** Which of the packages are installed, and where the programs in them are. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { environment, isInstalled } from '../../test/compat/python/environments.ts';

const MODULES = new URL('node_modules/', import.meta.url);
const REQUIREMENTS = fileURLToPath(new URL('requirements', import.meta.url));

export const langgraph = environment('langgraph', REQUIREMENTS);

/** The path of a file in a package. */
export function inPackage(name: string, file: string): string {
  return fileURLToPath(new URL(`${name}/${file}`, MODULES));
}

export function packageMissing(name: string): string | undefined {
  return existsSync(inPackage(name, 'package.json')) ? undefined : notInstalled(name);
}

export function environmentMissing(wanted: ReturnType<typeof environment>): string | undefined {
  return isInstalled(wanted) ? undefined : notInstalled(wanted.name);
}

/** The versions that are pinned, whether they are installed or not. */
export function pinned(...names: string[]): string {
  const { dependencies } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  return names.map((name) => `${name} ${dependencies[name]}`).join(', ');
}

function notInstalled(name: string): string {
  return `${name} is not installed: npm run peers:install`;
}
