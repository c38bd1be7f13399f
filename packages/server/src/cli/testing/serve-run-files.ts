/**
 * A server with one run, whose files are two directories of this machine: as it began, and now. It answers as
 * PROTOCOL.md says, as far as `talaria apply` asks: the run, what changed, and single files as they were.
 */
import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { ChangedFile } from '@talaria/client';
import { quoted, Shell } from '../../../../../test/support/shell.ts';
import { json, serve, type TestServer } from '../../../../client/src/testing/test-server.ts';

export const RUN_ID = 'run_0193c7e8a1b20193c7e8a1b20193c7e8';

/** What the two sides reflect. */
const SEQS = { from_seq: -1, to_seq: 7 } as const;

export interface RunDirectories {
  start: string;
  now: string;
  /** Runs git. Without it, every patch has a shell of its own. */
  shell?: Shell;
  status?: string;
  /** In place of what changed. */
  data?: Partial<ChangedFile>[];
  truncated?: boolean;
  /** In place of the content of files. */
  content?: (response: ServerResponse, etag: string) => void;
  /** In place of the patch of a path. */
  patch?: (path: string) => Iterable<Buffer>;
}

export function serveRunFiles(run: RunDirectories): Promise<TestServer> {
  return serve((response, { url }) => {
    const { pathname, searchParams } = new URL(url, 'http://server');
    const path = searchParams.get('path') ?? '';
    const sides = new Map([
      [String(SEQS.from_seq), run.start],
      [String(SEQS.to_seq), run.now],
    ]);
    const route = pathname.replace(`/v1/runs/${RUN_ID}`, '');
    if (route === '') json(response, 200, { run_id: RUN_ID, status: run.status ?? 'completed' });
    else if (route === '/artifacts/content') {
      sendFile(response, sides.get(searchParams.get('at') ?? '')!, path, run.content);
    } else if (route !== '/diff') refuse(response, 404, 'not_found');
    else if (searchParams.get('format') === 'patch') {
      if (run.patch === undefined) {
        patchOf(run, path).then(
          (patch) => response.end(patch),
          (error: Error) => response.destroy(error),
        );
      } else Readable.from(run.patch(path)).pipe(response);
    } else {
      const { data = changesOf(run), truncated = false } = run;
      json(response, 200, { object: 'list', run_id: RUN_ID, ...SEQS, data, truncated });
    }
  });
}

function sendFile(
  response: ServerResponse,
  directory: string,
  path: string,
  content: RunDirectories['content'],
): void {
  const found = treeOf(directory).get(path);
  if (found === undefined) refuse(response, 404, 'artifact_not_found');
  else if (found.startsWith('link')) refuse(response, 400, 'invalid_path');
  else {
    const bytes = readFileSync(join(directory, path));
    const etag = `"${createHash('sha256').update(bytes).digest('hex')}"`;
    if (content !== undefined) content(response, etag);
    else response.writeHead(200, { etag, 'content-length': bytes.length }).end(bytes);
  }
}

function refuse(response: ServerResponse, status: number, code: string): void {
  json(response, status, { error: { message: `Refused: ${code}`, code } });
}

function changesOf({ start, now }: RunDirectories): ChangedFile[] {
  const [before, after] = [treeOf(start), treeOf(now)];
  return [...new Set([...before.keys(), ...after.keys()])].sort().flatMap((path): ChangedFile[] => {
    const [was, is] = [before.get(path), after.get(path)];
    if (was === is) return [];
    const status = was === undefined ? 'added' : is === undefined ? 'deleted' : 'modified';
    const [mode, old_mode] = [modeOf(is ?? was!), modeOf(was ?? is!)];
    const changed = { path, status, additions: 1, deletions: 1, binary: false, mode } as const;
    return [mode === old_mode ? changed : { ...changed, old_mode }];
  });
}

function modeOf(entry: string): NonNullable<ChangedFile['mode']> {
  if (entry.startsWith('link')) return '120000';
  return entry.startsWith('program') ? '100755' : '100644';
}

/** Everything but directories, by path: what it is, and what is in it. */
export function treeOf(directory: string): Map<string, string> {
  const paths = readdirSync(directory, { recursive: true }) as string[];
  return new Map(
    paths.sort().flatMap((path) => {
      const place = join(directory, path);
      const stats = lstatSync(place);
      if (stats.isDirectory()) return [];
      if (stats.isSymbolicLink()) return [[path, `link ${readlinkSync(place)}`]];
      const digest = createHash('sha256').update(readFileSync(place)).digest('hex').slice(0, 8);
      return [[path, `${(stats.mode & 0o100) === 0 ? 'file' : 'program'} ${digest}`]];
    }),
  );
}

/** In git's form, which has the modes of links. */
async function patchOf({ start, now, shell: shared }: RunDirectories, path: string): Promise<Buffer> {
  const side = (directory: string): string =>
    treeOf(directory).has(path) ? quoted(join(directory, path)) : '/dev/null';
  const shell = shared ?? new Shell();
  try {
    // It ends with 1 if there is a difference.
    return await shell.run(now, `git diff --no-index ${side(start)} ${side(now)} || test $? = 1`);
  } finally {
    if (shell !== shared) await shell.close();
  }
}
