import { existsSync, lstatSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { buildSystemView } from './system-view.ts';

/** The root that commands would see. */
async function build(): Promise<string> {
  const rootDir = mkdtempSync(join(tmpdir(), 'talaria-view-test-'));
  onTestFinished(() => rmSync(rootDir, { recursive: true }));
  await buildSystemView({ rootDir, allowNetwork: false, hiddenPaths: [] });
  return rootDir;
}

test.for(['/etc/os-release', '/etc/protocols', '/etc/ssl/openssl.cnf'])(
  '%s is a copy and no link, where the machine has it',
  async (path, { skip }) => {
    if (!existsSync(path)) skip(`this machine has no ${path}`);
    const copy = join(await build(), path);
    expect(lstatSync(copy).isFile()).toBe(true);
    expect(readFileSync(copy)).toEqual(readFileSync(path));
  },
);

test('nothing else of /etc comes along', async () => {
  const rootDir = await build();
  for (const path of ['/etc/shadow', '/etc/ssl/private', '/etc/resolv.conf']) {
    expect(existsSync(join(rootDir, path))).toBe(false);
  }
  expect(readFileSync(join(rootDir, 'etc/passwd'), 'utf8')).not.toContain('root');
});
