/** Where the directory of a workspace is now. It may have moved when the answer is used. */
export type WorkspacePlace = () => string;

/** If an operation fails because the directory was moved meanwhile, it is repeated in the new place. */
export async function atPlace<T>(place: WorkspacePlace, work: (dir: string) => Promise<T>): Promise<T> {
  for (;;) {
    const dir = place();
    try {
      return await work(dir);
    } catch (error) {
      if (place() === dir) throw error;
    }
  }
}
