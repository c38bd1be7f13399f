/** `npm ci` prints no warning, as CONTRIBUTING.md says, not even on a Node that is too old for every package. */
import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const OFFLINE = ['--dry-run', '--offline', '--ignore-scripts'];

test('npm ci prints its warnings only with --loglevel=warn', () => {
  const cwd = mkdtempSync(join(tmpdir(), 'talaria-npm-ci-'));
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  const files = ['.npmrc', 'package.json', ...globSync('packages/*/package.json', { cwd: root })];
  for (const file of files) cpSync(join(root, file), join(cwd, file));
  const lock = readFileSync(join(root, 'package-lock.json'), 'utf8');
  writeFileSync(join(cwd, 'package-lock.json'), lock.replace(/"node": "[^"]+"/g, '"node": ">=999"'));

  // An environment of its own: the settings of the test run must not change the output.
  const env = { PATH: process.env.PATH, HOME: cwd };
  const install = (...options: string[]) => {
    const { status, stderr } = spawnSync('npm', ['ci', ...OFFLINE, ...options], {
      cwd,
      env,
      encoding: 'utf8',
    });
    return { status, stderr };
  };
  expect(install()).toEqual({ status: 0, stderr: '' });
  expect(install('--loglevel=warn').stderr).toContain('EBADENGINE');
});
