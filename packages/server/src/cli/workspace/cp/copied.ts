/** What a copy has come to. */
import type { NotTaken } from '../not-taken.ts';

export interface Copied {
  readonly files: number;
  readonly bytes: number;
  readonly leftOut: readonly NotTaken[];
  /** For people. */
  readonly to: string;
}
