import { execFileSync, spawnSync } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { version } from '../basics/version.ts';

const bin = fileURLToPath(new URL('../../bin/talaria.js', import.meta.url));
const oldNode = findOldNode();

describe('the program', () => {
  it('runs the command', () => {
    expect(run(process.execPath, ['--version'])).toEqual({ status: 0, stdout: `${version}\n`, stderr: '' });
  });

  it('passes on the exit code', () => {
    expect(run(process.execPath, ['dance']).status).toBe(2);
  });

  it('passes the output on completely', () => {
    const { stdout } = run(process.execPath, ['config', '--json']);
    expect(JSON.parse(stdout).settings.length).toBeGreaterThan(20);
  });

  const why = oldNode === undefined ? ' (skipped: no Node older than 24 on the PATH)' : '';
  it.skipIf(oldNode === undefined)(`prints one sentence if Node is too old${why}`, () => {
    const { status, stdout, stderr } = run(oldNode!.path, ['serve']);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toBe(
      `Talaria needs Node 24 or newer, but this is Node ${oldNode!.version}: start it with "npm start" or "npx talaria" in the project, which bring Node 24 along, or install Node 24.\n`,
    );
  });
});

function run(node: string, argv: string[]) {
  // An environment of its own: the settings of the test run must not change the output.
  const { status, stdout, stderr } = spawnSync(node, [bin, ...argv], {
    encoding: 'utf8',
    env: { HOME: '/nonexistent/home', NODE_DISABLE_COMPILE_CACHE: '1' },
  });
  return { status, stdout, stderr };
}

/** A Node of the machine, as opposed to the one the project brings. */
function findOldNode(): { path: string; version: string } | undefined {
  for (const directory of (process.env.PATH ?? '').split(delimiter)) {
    if (directory === '' || directory.includes('node_modules')) continue;
    const path = join(directory, 'node');
    try {
      const found = execFileSync(path, ['-p', 'process.versions.node'], {
        encoding: 'utf8',
        stdio: 'pipe',
      }).trim();
      if (Number.parseInt(found, 10) < 24) return { path, version: found };
    } catch {
      // Missing, or not a working Node.
    }
  }
  return undefined;
}
