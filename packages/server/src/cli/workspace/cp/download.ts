/**
 * Copies from a run's workspace to this machine: a file, or a directory with everything in it. A directory arrives as a
 * whole: it is fetched first, and if something would be replaced that must not be, nothing is written.
 */
import { mkdir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Talaria } from '@talaria/client';
import { checkedEntries } from '../../../setup/archives/checked-entries.ts';
import { readTar } from '../../../setup/archives/read-tar.ts';
import { chooseDestination } from '../../artifacts/destination.ts';
import { save } from '../../artifacts/save.ts';
import { openFile } from '../../artifacts/source.ts';
import { CommandError } from '../../command-error.ts';
import { LiveScreen } from '../../screen/live-screen.ts';
import { ProgressBar } from '../../screen/progress-bar.ts';
import type { Terminal } from '../../terminal.ts';
import { shownPath } from '../../text/shown-path.ts';
import { carryOut } from '../apply/carry-out.ts';
import { LocalFiles } from '../apply/local-files.ts';
import { pathProblem, WHY_LEFT_OUT } from '../apply/path-problem.ts';
import type { Change } from '../apply/plan.ts';
import { Staging } from '../apply/staging.ts';
import { writeContent } from '../apply/write-content.ts';
import type { NotTaken } from '../not-taken.ts';
import type { Copied } from './copied.ts';
import { workspacePath } from './place.ts';

export interface Download {
  readonly client: Talaria;
  readonly runId: string;
  readonly path: string;
  readonly to: string;
  readonly force: boolean;
  readonly signal: AbortSignal;
}

const EXECUTABLE = 0o100;

/** The bounds of the server hold; there are none here. */
const NO_LIMITS = { maxEntries: Number.MAX_SAFE_INTEGER, maxBytes: Number.MAX_SAFE_INTEGER };

export async function download(wanted: Download, terminal: Terminal): Promise<Copied> {
  const { client, runId, to, force, signal } = wanted;
  const path = workspacePath(wanted.path);
  // Reports at once, without retries, that it does not exist, or that there is no server.
  await client.runs.artifacts.list(runId, { path }, { signal });
  const source = path === '' ? undefined : await openFile(client, runId, path, signal);
  if (source === undefined) return downloadDirectory({ ...wanted, path }, terminal);
  const saved = await save(source, { output: to, force }, terminal);
  return { files: 1, bytes: saved.bytes, leftOut: [], to: saved.file };
}

async function downloadDirectory(wanted: Download, terminal: Terminal): Promise<Copied> {
  const { root, into, shown } = await destinationOf(wanted, terminal.workingDir);
  const local = new LocalFiles(root);
  await using staging = await Staging.open(root);
  const fetched = await fetchAll(wanted, { local, staging, into }, terminal);
  const taken = fetched.changes.filter(({ isNew }) => !isNew);
  if (taken.length > 0 && !wanted.force) {
    const more = taken.length === 1 ? '' : ` and ${taken.length - 1} more`;
    throw new CommandError(
      `${shownPath(taken[0]!.path)}${more} exists; --force replaces it. Nothing was copied`,
    );
  }
  await carryOut(fetched.changes, local);
  for (const directory of fetched.directories) await mkdir(join(root, directory), { recursive: true });
  return { files: fetched.changes.length, bytes: fetched.bytes, leftOut: fetched.leftOut, to: shown };
}

/** As `cp` does: into a directory that exists under its own name, otherwise as what does not exist yet. */
async function destinationOf(
  { path, to }: Download,
  workingDir: string,
): Promise<{ root: string; into: string; shown: string }> {
  const asked = resolve(workingDir, to);
  const isThere = await stat(asked).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (isThere && path === '') return { root: await realpath(asked), into: '', shown: to };
  const shown = isThere ? chooseDestination(basename(path), to, workingDir) : to;
  const place = resolve(workingDir, shown);
  const above = dirname(place);
  const found = await stat(above).catch(() => undefined);
  if (!found?.isDirectory()) throw new CommandError(`${shownPath(above)} is not a directory`);
  return { root: await realpath(above), into: basename(place), shown };
}

interface Fetched {
  readonly changes: Change[];
  /** Also those that are empty. */
  readonly directories: string[];
  readonly leftOut: NotTaken[];
  readonly bytes: number;
}

async function fetchAll(
  { client, runId, path: asked, signal }: Download,
  { local, staging, into }: { local: LocalFiles; staging: Staging; into: string },
  { stderr }: Terminal,
): Promise<Fetched> {
  const query = { path: asked, format: 'tar' } as const;
  const { body } = await client.runs.artifacts.archive(runId, query, { signal });
  const bar = new ProgressBar(shownPath(asked || 'workspace'), undefined, 0);
  using screen = stderr.canRedraw ? new LiveScreen(stderr) : undefined;
  screen?.setFooter((columns) => [bar.row(columns, stderr.style)]);
  const changes: Change[] = [];
  const directories: string[] = into === '' ? [] : [into];
  const leftOut: NotTaken[] = [];
  let bytes = 0;
  for await (const entry of checkedEntries(readTar(body!), '.', NO_LIMITS)) {
    const path = join(into, entry.name.toString());
    const problem = pathProblem(path);
    if (problem === 'git' || problem === 'unnamed') leftOut.push({ path, reason: WHY_LEFT_OUT[problem] });
    else if (entry.type === 'directory') {
      const ours = await local.look(path);
      const isFree = ours.kind === 'directory' || (ours.kind === 'entry' && ours.entry.type === 'none');
      if (!isFree) throw inTheWay(path);
      directories.push(path);
    } else if (entry.type === 'file') {
      const ours = await local.look(path);
      if (ours.kind !== 'entry') throw inTheWay(path);
      const copy = staging.next();
      const { seen } = ours;
      const isNew = ours.entry.type === 'none';
      const executable = (entry.mode & EXECUTABLE) !== 0;
      const sha256 = await writeContent(entry.content(), copy, entry.size);
      changes.push({
        path,
        action: 'write',
        entry: { type: 'file', sha256, executable },
        copy,
        seen,
        isNew,
      });
      bar.add(entry.size);
      bytes += entry.size;
    }
  }
  return { changes, directories, leftOut, bytes };
}

function inTheWay(path: string): CommandError {
  return new CommandError(`${shownPath(path)} is in the way. Nothing was copied`);
}
