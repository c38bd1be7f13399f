import { expect, test } from 'vitest';
import { hasPython, holdDeletedFile } from './testing/hold-deleted-file.ts';
import { findUnlinked } from './unlinked-files.ts';

const MB = 1024 * 1024;
const missing = hasPython ? '' : ' (missing: python3)';

test.skipIf(!hasPython).each(['descriptor', 'mapping'] as const)(
  `a deleted file that is held by a %s counts once${missing}`,
  async (held) => {
    const { pid, device } = await holdDeletedFile(4 * MB, held);
    const { bytes, inFlight } = await findUnlinked([pid], device);
    expect(Math.abs(bytes - 4 * MB)).toBeLessThan(64 * 1024);
    expect(inFlight).toBe(false);
    // A file on another file system does not count for the workspace.
    expect(await findUnlinked([pid], device + 1)).toEqual({ bytes: 0, inFlight: false });
  },
);

test.skipIf(!hasPython)(`a deleted file in a socket is noticed${missing}`, async () => {
  const { pid, device } = await holdDeletedFile(4 * MB, 'socket');
  expect(await findUnlinked([pid], device)).toEqual({ bytes: 0, inFlight: true });
});
