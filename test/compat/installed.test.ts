/** Which clients from npm are there. They have a lockfile of their own, so that `npm ci` of the project stays small. */
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

interface Lockfile {
  packages: Record<string, { version: string; dependencies?: Record<string, string> }>;
}

const lockfile = JSON.parse(readFileSync(new URL('package-lock.json', import.meta.url), 'utf8')) as Lockfile;
const clients = Object.keys(lockfile.packages['']!.dependencies!);
const installed = existsSync(new URL('node_modules', import.meta.url));

test.skipIf(!installed).each(clients)(
  `%s is the locked version${installed ? '' : ' (skipped: run "npm ci" in test/compat)'}`,
  (name) => {
    const file = new URL(`node_modules/${name}/package.json`, import.meta.url);
    const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version: string };
    expect(version, 'run "npm ci" in test/compat').toBe(lockfile.packages[`node_modules/${name}`]?.version);
  },
);
