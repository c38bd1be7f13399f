/**
 * Examines everything in a workspace without reading a file. A command can set a file's modification time to any value,
 * but not its change time, which the kernel sets: so the fingerprint includes that, too.
 */
import { createHash, type Hash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { SurveyOptions, WorkspaceSurvey } from '../../snapshots.ts';
import { isPassing } from '../artifacts/failures.ts';
import { Walk, type WalkedDirectory } from '../artifacts/walk.ts';
import { atPlace, type WorkspacePlace } from '../artifacts/workspace-place.ts';
import { describeErrors, inside, type Name, openDirectory } from '../files/workspace-path.ts';

const LOOK_AT_ONCE = 64;
/** The kernel's clock for files advances in steps of up to this many ms. Two changes within one step look like one. */
const CLOCK_STEP_MS = 10;

interface Found {
  components: Name[];
  stats: BigIntStats;
}

/** Something that has just changed is examined again after the clock has advanced. */
export async function surveyTree(place: WorkspacePlace, options: SurveyOptions): Promise<WorkspaceSurvey> {
  const survey = await atPlace(place, (dir) => lookAround(dir, options));
  if (survey.fingerprint !== undefined) return survey;
  await delay(CLOCK_STEP_MS, undefined, { signal: options.signal });
  return await atPlace(place, (dir) => lookAround(dir, options));
}

async function lookAround(
  dir: string,
  { maxEntries = Number.POSITIVE_INFINITY, signal }: SurveyOptions,
): Promise<WorkspaceSurvey> {
  const since = BigInt(Date.now() - CLOCK_STEP_MS) * 1_000_000n;
  await using workspace = await openDirectory(dir, []);
  const walk = new Walk(`/proc/self/fd/${workspace.fd}/.`, []);
  const hash = createHash('sha256');
  let [bytes, entries, settled] = [0, 0, true];
  for await (const directory of walk.directories(signal)) {
    const below: Name[][] = [];
    for await (const found of lookAtAll(directory)) {
      const { components, stats } = found;
      if (++entries > maxEntries) return { bytes, entries, fingerprint: undefined };
      if (stats.isFile()) bytes += Number(stats.size);
      if (stats.isDirectory()) below.push(components);
      if (stats.ctimeNs >= since) settled = false;
      add(hash, found);
    }
    walk.descend(below);
  }
  return { bytes, entries, fingerprint: settled ? hash.digest('base64') : undefined };
}

async function* lookAtAll(directory: WalkedDirectory): AsyncGenerator<Found, void> {
  let names: Buffer[] = [];
  async function* look(): AsyncGenerator<Found, void> {
    const found = await Promise.all(names.map((name) => lookAt(directory, name)));
    names = [];
    for (const one of found) if (one) yield one;
  }
  try {
    for await (const name of directory.names()) {
      names.push(name);
      if (names.length === LOOK_AT_ONCE) yield* look();
    }
  } catch (error) {
    // An unreadable directory counts as unchanged for as long as it is the same directory.
    if (!isPassing(error)) throw error;
  }
  yield* look();
}

async function lookAt({ handle, components }: WalkedDirectory, name: Buffer): Promise<Found | undefined> {
  const found = [...components, name];
  try {
    const look = () => lstat(inside(handle, name), { bigint: true });
    return { components: found, stats: await describeErrors(found, look) };
  } catch (error) {
    if (isPassing(error)) return undefined;
    throw error;
  }
}

function add(hash: Hash, { components, stats }: Found): void {
  for (const name of components) hash.update(name).update('/');
  const { ino, mode, size, mtimeNs, ctimeNs } = stats;
  hash.update(`\0${ino} ${mode} ${size} ${mtimeNs} ${ctimeNs}\0`);
}
