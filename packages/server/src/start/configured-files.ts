/** The files of clients, with the configured limits. */
import type { Config } from '../config/index.ts';
import { UploadedFiles } from '../uploads/uploaded-files.ts';
import type { Store } from './configured-store.ts';

export function configuredFiles(
  { maxFileBytes, maxFilesPerKey, maxFileBytesPerKey }: Config,
  { journal, blobs }: Store,
): UploadedFiles {
  const limits = { maxFileBytes, maxFiles: maxFilesPerKey, maxBytes: maxFileBytesPerKey };
  return new UploadedFiles({ files: journal.files, blobs, limits });
}
