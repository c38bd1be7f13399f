/** A writer of a workspace that says after each change, also one that failed halfway, that the files are no longer the same. */
import type { WorkspaceWriter } from '@talaria/sandbox';

export function noticedWriter(writer: WorkspaceWriter, notice: () => Promise<void>): WorkspaceWriter {
  const noticed = async <T>(change: Promise<T>): Promise<T> => {
    try {
      return await change;
    } finally {
      await notice();
    }
  };
  return {
    write: (path, content, options) => noticed(writer.write(path, content, options)),
    remove: (path, options) => noticed(writer.remove(path, options)),
    merge: (snapshot, options) => noticed(writer.merge(snapshot, options)),
  };
}
