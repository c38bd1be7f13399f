/** Where the directory of a workspace is now. It may be elsewhere when the answer is used. */
export type WorkspacePlace = () => string;

/** What fails because the directory was moved meanwhile is done again in its new place. */
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
