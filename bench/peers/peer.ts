/**
 * The contract between the measurements and the servers that are compared. A peer starts with the bench's model and a
 * store of its own, and does the same small works in its own way.
 */
import type { Stage } from '../stage.ts';

export interface Peer {
  name: string;
  /** The packages it consists of, with their versions. */
  packages: string;
  /** What one run is here: the requests of the client, and what the server does. */
  work: string;
  /** What is on disk, and when. */
  durable: string;
  /** What `kill -9` of its processes loses. */
  lost: string;
  /** Why it cannot be measured here; undefined if it can. */
  missing(): string | undefined;
  start(stage: Stage, model: { port: number; url: string }): Promise<RunningPeer>;
}

export interface RunningPeer {
  /** Its processes. Those that they start belong to it, too. */
  pids: readonly number[];
  /** A run whose model streams this many chunks of text: from the request that creates it until the client saw its end. */
  text(chunks: number): Promise<void>;
  /** The same with a model that first calls a tool, which runs the command `true`. */
  tool?(): Promise<void>;
  /** Makes a run whose model streams this many chunks, and returns what reads its whole stream once more. */
  replay?(chunks: number): Promise<() => Promise<void>>;
}

export const say = (chunks: number): string => `bench:say ${chunks}`;
export const CALL = 'bench:call terminal {"command":"true"}';
