/** Returns the present directory of a workspace. It may have moved before the caller uses the answer. */
export type WorkspacePlace = () => string;

/** Where commands see the directories of a workspace. */
export interface SeenAs {
  dir: string;
  tmpDir: string;
}

/** Repeats an operation that failed because the directory was moved meanwhile, in the new place. */
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
