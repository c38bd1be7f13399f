/**
 * Checks what a request says about its workspace against what the server has, before the run is created. So a run is not
 * accepted if it names a file or a directory that does not exist, or belongs to another key.
 */
import { TalariaError, type WorkspaceFile, type WorkspaceRequest } from '@talaria/protocol';
import type { OperatorDirectory } from '../config/index.ts';
import type { SharedBlob } from '../journal/contents.ts';
import type { Files } from '../journal/files.ts';
import type { SetupContent, SetupFile, WorkspaceSetup } from '../journal/workspace-setup.ts';
import { hasAttachments, type Messages, placeAttachments } from './attachments.ts';
import { isAllowed } from './directory-mounts.ts';

export interface ResolvedWorkspace {
  setup: WorkspaceSetup;
  /** The blobs that the run has to hold. */
  blobs: SharedBlob[];
}

export interface WorkspaceMeans {
  files: Pick<Files, 'get'>;
  directories: readonly Pick<OperatorDirectory, 'name' | 'mode' | 'keys'>[];
}

export type RequestWithFiles = Messages & { workspace?: WorkspaceRequest | undefined };

/** Finds the files and directories that the request names; throws if one does not exist for this owner. */
export type ResolveRequest = <T extends RequestWithFiles>(
  owner: string,
  request: T,
) => Promise<{ request: T; workspace: ResolvedWorkspace | undefined }>;

/** The request with text in place of the files in its messages, and what the run begins with; undefined if that is nothing. */
export async function resolveRequest<T extends RequestWithFiles>(
  owner: string,
  request: T,
  means: WorkspaceMeans,
): Promise<{ request: T; workspace: ResolvedWorkspace | undefined }> {
  const workspace = request.workspace && (await resolveWorkspace(owner, request.workspace, means));
  if (!hasAttachments(request)) return { request, workspace };
  const { setup, blobs } = workspace ?? { setup: {}, blobs: [] };
  if (setup.mount !== undefined) throw onlyMounted();
  const taken = setup.files?.map(({ path }) => path) ?? [];
  const placed = await placeAttachments(owner, request, { files: means.files, taken });
  const files = [...(setup.files ?? []), ...placed.files];
  const held = new Map([...blobs, ...placed.blobs].map((blob) => [blob.blobId, blob]));
  return {
    request: placed.messages,
    workspace: { setup: { ...setup, files }, blobs: [...held.values()] },
  };
}

async function resolveWorkspace(
  owner: string,
  request: WorkspaceRequest,
  { files, directories }: WorkspaceMeans,
): Promise<ResolvedWorkspace> {
  const { directory } = request;
  const known = directories.find(({ name, ...one }) => name === directory && isAllowed(one, owner));
  if (directory !== undefined && known === undefined) {
    const message = "'workspace.directory' names none of the server's directories";
    throw new TalariaError('invalid_workspace', { message, param: 'workspace.directory' });
  }
  if (directory !== undefined && known?.mode === 'mount') {
    if (request.files || request.archives || request.git) throw onlyMounted();
    return { setup: { mount: directory }, blobs: [] };
  }
  const blobs = new Map<string, SharedBlob>();
  const resolve = async (list: readonly WorkspaceFile[], name: string): Promise<SetupFile[]> => {
    const resolved: SetupFile[] = [];
    for (const [i, file] of list.entries()) {
      const { path } = file;
      if ('file_id' in file) {
        resolved.push({ path, ...(await found(file.file_id, `workspace.${name}[${i}].file_id`)) });
      } else resolved.push(file);
    }
    return resolved;
  };
  const found = async (fileId: string, param: string): Promise<SetupContent> => {
    const file = await files.get(owner, fileId);
    if (file === undefined) {
      throw new TalariaError('invalid_workspace', { message: `'${param}' names no file of this key`, param });
    }
    blobs.set(file.blobId, { blobId: file.blobId, from: `file:${fileId}` });
    return { blob_id: file.blobId, size: file.bytes };
  };
  const { files: given, archives, ...rest } = request;
  const setup: WorkspaceSetup = {
    ...rest,
    ...(given === undefined ? {} : { files: await resolve(given, 'files') }),
    ...(archives === undefined ? {} : { archives: await resolve(archives, 'archives') }),
  };
  return { setup, blobs: [...blobs.values()] };
}

function onlyMounted(): TalariaError {
  const message =
    "'workspace.directory' names a directory that the run works in itself, so nothing is put into it first; leave files, " +
    'archives and repositories out';
  return new TalariaError('invalid_workspace', { message, param: 'workspace.directory' });
}
