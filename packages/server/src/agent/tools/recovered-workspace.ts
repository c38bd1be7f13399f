/**
 * What became of the files of a run that lost its owner or its sandbox.
 *
 * - `here`: the workspace is in place, or there was none.
 * - `lost`: it was on another machine, and is empty now.
 * - `reverted`: its files were lost with its sandbox. The files here are those that the sandbox began with.
 * - `restored`: its files are here as they were at this position of the log.
 */
export type RecoveredWorkspace =
  | { kind: 'here' }
  | { kind: 'lost' }
  | { kind: 'reverted' }
  | {
      kind: 'restored';
      pos: number;
      /** How many entries could not be saved. */
      omitted: number;
      /** Which of the two the run lost; it still has the other. */
      lost: 'machine' | 'sandbox';
    };
