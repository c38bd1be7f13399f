import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { findProgram } from '../../host/system-path.ts';
import { whyUnavailable } from '../testing/why-unavailable.ts';

const missing = process.getuid?.() === 0 ? await whyUnavailable('bubblewrap') : 'root';
const why = missing === undefined ? '' : ` (missing: ${missing})`;

test.skipIf(missing !== undefined)(`an older bubblewrap is used with the options it has${why}`, async () => {
  const dir = mkdtempSync(join(tmpdir(), 'talaria-probe-test-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const installed = (await findProgram('bwrap')) as string;
  const [real, older] = [join(dir, 'bwrap'), join(dir, 'older-bwrap')];
  copyFileSync(installed, real);
  writeFileSync(
    older,
    `#!/bin/sh
case " $* " in
  *" --help "*) "${real}" --help | grep -v -e --size ;;
  *" --size "*) echo 'bwrap: Unknown option --size' >&2; exit 1 ;;
  *) exec "${real}" "$@" ;;
esac`,
  );
  chmodSync(older, 0o755);
  const module = JSON.stringify(new URL('../local-backend.ts', import.meta.url).href);
  const script = `
    const { LocalBackend } = await import(${module});
    const workspacesDir = ${JSON.stringify(join(dir, 'workspaces'))};
    const backend = new LocalBackend({ workspacesDir, isolation: 'bubblewrap' });
    await backend.start();
    const slot = await backend.acquire();
    const [{ output }] = await backend.executeBatch([[slot, 'bash', { command: 'echo works' }]]);
    console.log(JSON.stringify({ output, ...backend.stats().isolation }));
    await backend.stop();`;
  // In a mount namespace of its own, so that the machine's bubblewrap stays as it is.
  const replaced = 'mount --bind "$1" "$2" && shift 2 && exec "$@"';
  const node = [process.execPath, '--input-type=module', '--eval', script];
  const told = execFileSync('unshare', ['--mount', 'sh', '-c', replaced, 'sh', older, installed, ...node]);
  expect(JSON.parse(told.toString())).toMatchObject({
    output: 'works\n',
    kind: 'bubblewrap',
    hardening: [
      { name: 'system calls', holds: true },
      { name: 'kernel users', holds: true },
    ],
  });
});
