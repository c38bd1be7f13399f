/**
 * File tools that change a workspace take turns, in the order in which they were called: two edits of one file in
 * the same step both happen. Commands are not part of it; against them an edit looks again before it writes.
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
