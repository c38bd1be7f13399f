/** Builds the web page if its sources are newer than its build, so that no test looks at yesterday's page. */
import { execFile } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const PACKAGES = fileURLToPath(new URL('../../packages', import.meta.url));
const DASHBOARD = join(PACKAGES, 'dashboard');

/** What the page is made of: itself, and the client with its protocol. */
const SOURCES = [
  join(DASHBOARD, 'src'),
  join(DASHBOARD, 'public'),
  join(PACKAGES, 'client/src'),
  join(PACKAGES, 'protocol/src'),
];
const FILES = ['index.html', 'approve.html', 'vite.config.ts', 'package.json'].map((name) =>
  join(DASHBOARD, name),
);

export async function prepareDashboard(): Promise<void> {
  const built = changedAt(join(DASHBOARD, 'dist/index.html'));
  const changed = Math.max(...SOURCES.map(newestIn), ...FILES.map(changedAt));
  if (built >= changed) return;
  await promisify(execFile)('npm', ['run', 'build', '--silent'], { cwd: DASHBOARD });
}

function newestIn(directory: string): number {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true });
  return Math.max(
    ...files.filter((file) => file.isFile()).map(({ parentPath, name }) => changedAt(join(parentPath, name))),
  );
}

/** Zero for a file that is not there. */
function changedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
