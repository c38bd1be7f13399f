/**
 * Reads the `workspace` of a request that starts a run: what is in its workspace before the first step. Only the text of
 * the request is judged here; whether a file or a directory of that name exists is checked elsewhere.
 *
 * Unknown fields are refused: a run without the files that a mistyped field was to bring would only fail later.
 */
import { TalariaError } from './errors.ts';

/** The fields are stored as they are. */
export interface WorkspaceRequest {
  /** Written last, over everything else. */
  files?: WorkspaceFile[];
  archives?: WorkspaceArchive[];
  git?: WorkspaceGit[];
  /** The name of one of the operator's directories. */
  directory?: string;
  /** The run begins without the files of its session. */
  fresh?: true;
}

export type WorkspaceContent =
  | { file_id: string }
  /** Text, or bytes in base64. */
  | { content: string; encoding?: 'base64' };

export type WorkspaceFile = { path: string } & WorkspaceContent;

/** A tar, tar.gz or zip; `path` is the directory that it is unpacked in. */
export type WorkspaceArchive = { path: string } & WorkspaceContent;

export interface WorkspaceGit {
  path: string;
  /** Normalised; it may hold credentials. */
  url: string;
  ref?: string;
  depth?: number;
}

export const WORKSPACE_FILES_MAX = 1000;
export const WORKSPACE_ARCHIVES_MAX = 20;
export const WORKSPACE_GIT_MAX = 10;
/** As deep as files of a workspace are listed. */
const DEPTH_MAX = 100;
const PATH_MAX = 4096;
const NAME_BYTES_MAX = 255;
const URL_MAX = 2048;
const REF_MAX = 255;
const GIT_DEPTH_MAX = 1_000_000;
const FILE_ID = /^file-[0-9a-f]{32}$/;
const DIRECTORY_NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
const LONE_SURROGATE = /\p{Cs}/u;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

type Fields = Record<string, unknown>;

/** Undefined for a run that begins with nothing. */
export function parseWorkspace(value: unknown): WorkspaceRequest | undefined {
  if (value === undefined || value === null) return undefined;
  const fields = objectAt('workspace', value, ['files', 'archives', 'git', 'directory', 'fresh']);
  const request: WorkspaceRequest = {
    ...listAt('files', fields.files, WORKSPACE_FILES_MAX, parseFile),
    ...listAt('archives', fields.archives, WORKSPACE_ARCHIVES_MAX, parseArchive),
    ...listAt('git', fields.git, WORKSPACE_GIT_MAX, parseGit),
    ...parseDirectory(fields.directory),
    ...parseFresh(fields.fresh),
  };
  refuseConflicts(
    'files',
    request.files ?? [],
    (path, other) => path === other || path.startsWith(`${other}/`),
  );
  refuseConflicts('git', request.git ?? [], (path, other) => path === other);
  return Object.keys(request).length === 0 ? undefined : request;
}

function parseFile(value: unknown, param: string): WorkspaceFile {
  const fields = objectAt(param, value, ['path', 'content', 'encoding', 'file_id']);
  const path = parsePath(fields.path, `${param}.path`);
  if (path === '.') throw refused(`${param}.path`, 'must name a file, and is the workspace itself');
  return { path, ...parseContent(fields, param) };
}

function parseArchive(value: unknown, param: string): WorkspaceArchive {
  const fields = objectAt(param, value, ['path', 'content', 'encoding', 'file_id']);
  if (fields.content !== undefined && fields.encoding !== 'base64') {
    throw refused(`${param}.encoding`, "must be base64 for the 'content' of an archive");
  }
  return { path: parsePath(fields.path ?? '.', `${param}.path`), ...parseContent(fields, param) };
}

function parseContent(fields: Fields, param: string): WorkspaceContent {
  const { content, encoding, file_id: fileId } = fields;
  if ((content === undefined) === (fileId === undefined)) {
    throw refused(param, "must have either 'content' or 'file_id'");
  }
  if (fileId !== undefined) {
    if (typeof fileId === 'string' && FILE_ID.test(fileId)) return { file_id: fileId };
    throw refused(`${param}.file_id`, 'must be the id of a file, such as POST /v1/files answers with');
  }
  if (typeof content !== 'string') throw refused(`${param}.content`, 'must be a string');
  if (encoding === undefined || encoding === null) {
    if (!LONE_SURROGATE.test(content)) return { content };
    throw refused(`${param}.content`, 'must be valid Unicode; send other bytes in base64');
  }
  if (encoding !== 'base64') throw refused(`${param}.encoding`, 'must be base64, or absent for text');
  if (content.length % 4 === 0 && BASE64.test(content)) return { content, encoding };
  throw refused(`${param}.content`, 'is not valid base64');
}

function parseGit(value: unknown, param: string): WorkspaceGit {
  const { path, url, ref, depth } = objectAt(param, value, ['path', 'url', 'ref', 'depth']);
  return {
    path: parsePath(path ?? '.', `${param}.path`),
    url: parseUrl(url, `${param}.url`),
    ...parseRef(ref, `${param}.ref`),
    ...parseDepth(depth, `${param}.depth`),
  };
}

/** The message never repeats the URL, which may hold credentials. */
function parseUrl(value: unknown, param: string): string {
  const url = typeof value === 'string' && value.length <= URL_MAX ? toUrl(value) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol) || url.port === '0') {
    throw refused(param, `must be an http:// or https:// URL of at most ${URL_MAX} characters`);
  }
  // Git's programs tell each other credentials in lines.
  if (/%(0[0-9a-f]|1[0-9a-f]|7f)/i.test(url.username + url.password)) {
    throw refused(param, 'must not have control characters in its user or password');
  }
  url.hash = '';
  return url.href;
}

function toUrl(text: string): URL | undefined {
  // The parser drops some of these silently.
  if (/[\s\\\p{Cc}]/u.test(text)) return undefined;
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

/** A branch, a tag or a commit, by git's own rules for names. */
function parseRef(value: unknown, param: string): { ref?: string } {
  if (value === undefined || value === null) return {};
  const isName =
    typeof value === 'string' &&
    value.length <= REF_MAX &&
    /^[^\s~^:?*[\\\p{Cc}]+$/u.test(value) &&
    !/^[-/.]|\.\.|\/\/|@\{|[/.]$|\.lock$|\/\./.test(value);
  if (isName) return { ref: value };
  throw refused(param, 'must be the name of a branch or tag, or the id of a commit');
}

function parseDepth(value: unknown, param: string): { depth?: number } {
  if (value === undefined || value === null) return {};
  const isDepth = Number.isInteger(value) && (value as number) >= 1 && (value as number) <= GIT_DEPTH_MAX;
  if (isDepth) return { depth: value as number };
  throw refused(param, `must be a whole number from 1 to ${GIT_DEPTH_MAX}`);
}

function parseDirectory(value: unknown): { directory?: string } {
  if (value === undefined || value === null) return {};
  if (typeof value === 'string' && DIRECTORY_NAME.test(value)) return { directory: value };
  throw refused('workspace.directory', "must be the name of one of the server's directories");
}

function parseFresh(value: unknown): { fresh?: true } {
  if (value === undefined || value === null || value === false) return {};
  if (value === true) return { fresh: true };
  throw refused('workspace.fresh', 'must be true or false');
}

/** Relative, normalised, and `.` for the workspace itself. Nobody means a path that leaves it or has dots in it. */
export function parsePath(value: unknown, param: string): string {
  if (typeof value !== 'string' || value === '' || value.length > PATH_MAX) {
    throw refused(param, `must be a path of 1 to ${PATH_MAX} characters`);
  }
  if (LONE_SURROGATE.test(value) || value.includes('\0'))
    throw refused(param, 'must be valid Unicode without NUL');
  if (value.startsWith('/')) throw refused(param, 'must be relative to the workspace, and begins with /');
  const components = value.split('/').filter((component) => component !== '' && component !== '.');
  if (components.includes('..')) throw refused(param, "must stay in the workspace, and has '..' in it");
  if (value.endsWith('/') && components.length > 0) throw refused(param, 'must not end with /');
  const longest = Math.max(0, ...components.map((name) => new TextEncoder().encode(name).length));
  if (longest > NAME_BYTES_MAX || components.length > DEPTH_MAX) {
    throw refused(
      param,
      `must have names of at most ${NAME_BYTES_MAX} bytes, and at most ${DEPTH_MAX} of them`,
    );
  }
  return components.join('/') || '.';
}

/** Sorted by path, an entry that is in the way of another comes right before it, or before its siblings. */
function refuseConflicts(
  list: 'files' | 'git',
  entries: readonly { path: string }[],
  isInTheWay: (path: string, other: string) => boolean,
): void {
  const paths = new Map(entries.map(({ path }, i) => [path, i]));
  for (const [i, { path }] of entries.entries()) {
    const param = `workspace.${list}[${i}].path`;
    if (paths.get(path) !== i) throw refused(param, 'is given twice');
    for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) {
      const above = path.slice(0, at);
      if (paths.has(above) && isInTheWay(path, above)) throw refused(param, 'lies below another file');
    }
  }
}

function listAt<Name extends string, T>(
  name: Name,
  value: unknown,
  max: number,
  parse: (entry: unknown, param: string) => T,
): { [N in Name]?: T[] } {
  if (value === undefined || value === null) return {};
  const param = `workspace.${name}`;
  if (!Array.isArray(value)) throw refused(param, 'must be a list');
  if (value.length > max) throw refused(param, `must have at most ${max} entries`);
  if (value.length === 0) return {};
  return { [name]: value.map((entry, i) => parse(entry, `${param}[${i}]`)) } as { [N in Name]?: T[] };
}

function objectAt(param: string, value: unknown, known: readonly string[]): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw refused(param, 'must be an object');
  }
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  if (unknown === undefined) return value as Fields;
  const shown = unknown.length > 50 ? `${unknown.slice(0, 50)}…` : unknown;
  throw refused(param, `has the unknown field '${shown}'; known are ${known.join(', ')}`);
}

function refused(param: string, why: string): TalariaError {
  return new TalariaError('invalid_workspace', { message: `'${param}' ${why}`, param });
}
