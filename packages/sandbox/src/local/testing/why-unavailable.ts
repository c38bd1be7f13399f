import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Isolation } from '../../backend.ts';
import { LocalBackend } from '../local-backend.ts';

/** Why this machine cannot have an isolation; undefined where it can. */
export async function whyUnavailable(isolation: Isolation['kind']): Promise<string | undefined> {
  const workspacesDir = await mkdtemp(join(tmpdir(), 'talaria-isolation-test-'));
  const backend = new LocalBackend({ workspacesDir, isolation });
  try {
    await backend.start();
    await backend.stop();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  } finally {
    await rm(workspacesDir, { recursive: true, force: true });
  }
}

/** The one a server would have on this machine. */
export async function bestIsolation(): Promise<Isolation['kind']> {
  for (const isolation of ['bubblewrap', 'unshare'] as const) {
    if ((await whyUnavailable(isolation)) === undefined) return isolation;
  }
  return 'none';
}
