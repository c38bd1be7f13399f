import type { ComparedText, ContentPair } from './compare-contents.ts';

export interface CompareOptions {
  /** The most steps that the comparison may take (compare-lines.ts). */
  maxSteps: number;
  /** Whether everything for a patch is wanted, or only how many lines differ. */
  patch: boolean;
}

export type PairQuestion = ContentPair & CompareOptions;

export interface ThreadResult {
  /** Undefined if one of the contents is not text. */
  text: (Pick<ComparedText, 'additions' | 'deletions'> & { hunks: Uint8Array }) | undefined;
  /** The names that git gives to them. */
  blobIds: { before: string; after: string } | undefined;
}
