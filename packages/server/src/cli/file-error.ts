/** A failed call of the file system: it has a code, and names the call. */
export type FileError = NodeJS.ErrnoException & { code: string };

export function isFileError(error: unknown): error is FileError {
  const { code, syscall } = error as NodeJS.ErrnoException;
  return code !== undefined && syscall !== undefined;
}
