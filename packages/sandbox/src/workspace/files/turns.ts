/**
 * File tools that change a workspace take turns, in the order of their calls: two edits of one file in the same step
 * both happen. Commands do not take part; before an edit writes, it checks again whether a command changed the file.
 */
const last = new Map<string, Promise<unknown>>();

export async function inTurn<T>(workspaceDir: string, action: () => Promise<T>): Promise<T> {
  const turn = (last.get(workspaceDir) ?? Promise.resolve()).then(action, action);
  last.set(workspaceDir, turn);
  try {
    return await turn;
  } finally {
    if (last.get(workspaceDir) === turn) last.delete(workspaceDir);
  }
}
