import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Isolation } from '../../backend.ts';
import { LocalBackend } from '../local-backend.ts';

/** Trying one starts a dozen processes, and many test files ask. */
const tried = new Map<Isolation['kind'], Promise<string | undefined>>();

/** Why this machine cannot have an isolation; undefined if it can. */
export function whyUnavailable(isolation: Isolation['kind']): Promise<string | undefined> {
  const known = tried.get(isolation) ?? tryToStart(isolation);
  tried.set(isolation, known);
  return known;
}

async function tryToStart(isolation: Isolation['kind']): Promise<string | undefined> {
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

/** A server has the best isolation, or none, so `npm test` shows those two. The one in between is for the soak tests. */
export async function tagsOf(isolation: Isolation['kind']): Promise<string[]> {
  return isolation === 'none' || isolation === (await bestIsolation()) ? [] : ['soak'];
}
