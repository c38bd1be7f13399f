/** Builds the web page into the `dist` of its package, with the bundler of this repository. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export function buildPage(): void {
  const directory = fileURLToPath(new URL('../packages/dashboard', import.meta.url));
  const vite = fileURLToPath(import.meta.resolve('vite/package.json')).replace(
    /package\.json$/,
    'bin/vite.js',
  );
  execFileSync(process.execPath, [vite, 'build'], { cwd: directory, stdio: ['ignore', 'ignore', 'pipe'] });
}
