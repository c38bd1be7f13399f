import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { unlinkedBytes } from './unlinked-files.ts';

const MB = 1024 * 1024;
/** `held` says how: by a descriptor or by a mapping alone. A child shares both. */
const HOLDER = `
import ctypes, os, sys
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
path, size, held = sys.argv[1], int(sys.argv[2]), sys.argv[3]
file = os.open(path, os.O_RDWR | os.O_CREAT)
os.write(file, b"x" * size)
os.fsync(file)
if held == "mapping":
    assert libc.mmap(None, size, 3, 1, file, 0) not in (None, ctypes.c_void_p(-1).value)
    os.close(file)
os.unlink(path)
os.fork()
os.write(1, b"held\\n")
sys.stdin.read()
`;

const hasPython = spawnSync('python3', ['-c', 'import ctypes']).status === 0;

test.skipIf(!hasPython).each(['descriptor', 'mapping'])(
  `a deleted file that is held by a %s counts once${hasPython ? '' : ' (missing: python3)'}`,
  async (held) => {
    const directory = mkdtempSync(join(tmpdir(), 'talaria-unlinked-test-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const child = spawn('python3', ['-c', HOLDER, join(directory, 'file'), String(4 * MB), held]);
    // Both read it to its end.
    onTestFinished(() => void child.stdin.end());
    const { dev } = statSync(directory);
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    await expect.poll(() => said, { timeout: 20_000 }).toBe('held\nheld\n');
    const bytes = await unlinkedBytes([child.pid!], dev);
    expect(Math.abs(bytes - 4 * MB)).toBeLessThan(64 * 1024);
    // What lies on another file system is none of the workspace's.
    expect(await unlinkedBytes([child.pid!], dev + 1)).toBe(0);
  },
);
