/** The data directory: existing or to be created, ours, private, with room, on a disk that SQLite can use. */
import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { lockFile } from '../../../files/file-lock.ts';
import { bytes } from '../../text/bytes.ts';
import type { Finding } from '../finding.ts';

/** Below the first a server soon fails; below the second a warning is useful. */
const FREE_FAILED_BYTES = 50_000_000;
const FREE_WARNING_BYTES = 1_000_000_000;

/** Network file systems, by their number in statfs(2). */
const NETWORK: Readonly<Record<number, string>> = {
  26985: 'NFS',
  4283649346: 'CIFS',
  4266872130: 'SMB',
  20859: 'SMB',
  16914839: '9p',
  12805120: 'Ceph',
};

const CHOOSE = 'or choose another with TALARIA_DATA_DIR';

export function checkDataDirectory(path: string): Finding {
  if (!existsSync(path)) return checkParent(path);
  const { mode } = statSync(path);
  const unusable = whyUnusable(path);
  if (!statSync(path).isDirectory()) return failed(`${path} is not a directory`, `Move it away, ${CHOOSE}`);
  if (unusable !== undefined) {
    return failed(`${path} cannot be used (${unusable})`, `Make it writable for this user, ${CHOOSE}`);
  }
  const space = checkSpace(path);
  if (space.status === 'failed') return space;
  if ((mode & 0o077) !== 0) {
    return {
      status: 'warning',
      detail: `${path} is open to other users of this machine`,
      fix: `chmod 700 ${path}`,
    };
  }
  const used = isLocked(path) ? ', in use by a running server' : '';
  return { ...space, detail: `${space.detail}${used}` };
}

/** Whether a server uses it now. */
function isLocked(path: string): boolean {
  const lock = join(path, 'server.lock');
  if (!existsSync(lock)) return false;
  try {
    lockFile(lock, 'in use').release();
    return false;
  } catch (error) {
    return (error as Error).message === 'in use';
  }
}

function checkParent(path: string): Finding {
  let parent = dirname(path);
  while (!existsSync(parent)) parent = dirname(parent);
  const unusable = statSync(parent).isDirectory() ? whyUnusable(parent) : 'ENOTDIR';
  if (unusable !== undefined) {
    return failed(
      `${path} cannot be made in ${parent} (${unusable})`,
      `Make it by hand for this user, ${CHOOSE}`,
    );
  }
  const space = checkSpace(parent);
  return { ...space, detail: `${path} will be made at the first start; ${space.detail}` };
}

function whyUnusable(path: string): string | undefined {
  try {
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  }
}

function checkSpace(path: string): Finding {
  const { bavail, bsize, type } = statfsSync(path);
  const free = bavail * bsize;
  const detail = `${path}, ${bytes(free)} free`;
  const network = NETWORK[type];
  if (network !== undefined) {
    return {
      status: 'warning',
      detail: `${detail}, on a network file system (${network})`,
      fix: `SQLite's locks do not hold there: put it on a local disk with TALARIA_DATA_DIR`,
    };
  }
  if (free < FREE_FAILED_BYTES) return failed(detail, `Make room on its disk, ${CHOOSE}`);
  return { status: free < FREE_WARNING_BYTES ? 'warning' : 'ok', detail };
}

function failed(detail: string, fix: string): Finding {
  return { status: 'failed', detail, fix };
}
