/** A deleted file that a process still holds: by a descriptor, by a mapping alone, or in a socket that nobody reads. */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';

export type Held = 'descriptor' | 'mapping' | 'socket';

/** A child shares what its parent holds. */
const HOLDER = `
import ctypes, os, socket, sys
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
if held == "socket":
    pair = socket.socketpair()
    socket.send_fds(pair[0], [b"x"], [file])
    os.close(file)
os.unlink(path)
os.fork()
os.write(1, b"held\\n")
sys.stdin.read()
`;

export const hasPython = spawnSync('python3', ['-c', 'import ctypes']).status === 0;

/** Until the end of the test. */
export async function holdDeletedFile(bytes: number, held: Held): Promise<{ pid: number; device: number }> {
  const directory = mkdtempSync(join(tmpdir(), 'talaria-unlinked-test-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const child = spawn('python3', ['-c', HOLDER, join(directory, 'file'), String(bytes), held]);
  // Both read it to its end.
  onTestFinished(() => void child.stdin.end());
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  await expect.poll(() => said, { timeout: 20_000 }).toBe('held\nheld\n');
  return { pid: child.pid!, device: statSync(directory).dev };
}
