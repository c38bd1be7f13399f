import { execFileSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { buildSystemView } from './system-view.ts';

/** The root that commands would see. */
function build(): string {
  const rootDir = mkdtempSync(join(tmpdir(), 'talaria-view-test-'));
  onTestFinished(() => rmSync(rootDir, { recursive: true }));
  buildSystemView({ rootDir, allowNetwork: false, hiddenPaths: [] });
  return rootDir;
}

test.for(['/etc/os-release', '/etc/protocols', '/etc/ssl/openssl.cnf'])(
  '%s is a copy and not a link, if the machine has it',
  (path, { skip }) => {
    if (!existsSync(path)) skip(`this machine has no ${path}`);
    const copy = join(build(), path);
    expect(lstatSync(copy).isFile()).toBe(true);
    expect(readFileSync(copy)).toEqual(readFileSync(path));
  },
);

test('nothing else of /etc is visible', () => {
  const rootDir = build();
  for (const path of ['/etc/shadow', '/etc/ssl/private', '/etc/resolv.conf']) {
    expect(existsSync(join(rootDir, path))).toBe(false);
  }
  expect(readFileSync(join(rootDir, 'etc/passwd'), 'utf8')).not.toContain('root');
});

test.skipIf(process.getuid?.() !== 0 || !existsSync('/etc/perl'))(
  'other users can use it whatever the umask, and read nothing that only root may (needs root and /etc/perl)',
  () => {
    const rootDir = mkdtempSync(join(tmpdir(), 'talaria-view-test-'));
    onTestFinished(() => rmSync(rootDir, { recursive: true }));
    const module = JSON.stringify(new URL('./system-view.ts', import.meta.url).href);
    const script = `
      process.umask(0o077);
      const { buildSystemView } = await import(${module});
      buildSystemView({ rootDir: ${JSON.stringify(rootDir)}, allowNetwork: false, hiddenPaths: [] });`;
    // In a mount namespace of its own, so that the machine's /etc stays as it is.
    const withSecret = 'mount -t tmpfs -o mode=755 tmpfs /etc/perl && : > /etc/perl/secret && exec "$@"';
    const node = [process.execPath, '--input-type=module', '--eval', script];
    execFileSync('unshare', ['--mount', 'sh', '-c', `umask 077; ${withSecret}`, 'sh', ...node]);
    const rights = (path: string) => statSync(join(rootDir, path)).mode & 0o777;
    expect(['', 'etc', 'etc/ssl', 'dev', 'etc/passwd', 'etc/ld.so.conf'].map(rights)).toEqual([
      ...[0o755, 0o755, 0o755, 0o755],
      ...[0o644, 0o644],
    ]);
    expect(rights('etc/perl/secret')).toBe(0o600);
  },
);

test.skipIf(process.getuid?.() !== 0)(
  'files of a directory that the server has open keep their rights (needs root)',
  () => {
    const elsewhere = mkdtempSync(join(tmpdir(), 'talaria-view-test-'));
    onTestFinished(() => rmSync(elsewhere, { recursive: true }));
    const secret = join(elsewhere, 'secret');
    writeFileSync(secret, '', { mode: 0o600 });
    const directory = openSync(elsewhere, 'r');
    onTestFinished(() => closeSync(directory));
    build();
    expect(statSync(secret).mode & 0o777).toBe(0o600);
    expect(statSync(elsewhere).mode & 0o777).toBe(0o700);
  },
);
