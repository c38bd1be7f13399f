/** The runs, the questions and the state of the connection, as signals. Only this folder changes them. */
import { computed, signal } from '@preact/signals';
import type { Heads } from './heads.ts';
import type { Question } from './questions.ts';

/**
 * How fresh the page is. It says nothing about the runs, which continue on the server whatever happens here.
 * `old`: the server cannot list runs, so there is nothing to follow.
 */
export type Connection = 'connecting' | 'live' | 'reconnecting' | 'offline' | 'old';

export const connection = signal<Connection>('connecting');
export const heads = signal<Heads>(new Map());
export const questions = signal<readonly Question[]>([]);

/** False until the questions were read for the first time: an empty inbox is not claimed before. */
export const questionsKnown = signal(false);

/** The last failure to follow the server, while it lasts. */
export const trouble = signal<unknown>(undefined);

export const waitingCount = computed(
  () => questions.value.filter(({ settledAt }) => settledAt === undefined).length,
);
