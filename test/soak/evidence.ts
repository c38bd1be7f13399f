/**
 * What the clients of a round were told, what was done to the servers, and which marks the tools have left. The driver writes it, and
 * the checker compares it with what the servers say afterwards. Times are seconds since the epoch, as on the wire.
 */
import type { WebhookMessage } from '@talaria/protocol';
import type { CallManner } from './plan.ts';

export interface Evidence {
  seed: number;
  round: number;
  store: StoreName;
  /** The key of the clients. */
  apiKey: string;
  /** Where the servers are now that nobody kills them any more. */
  urls: string[];
  disruptions: Disruption[];
  runs: RunEvidence[];
  sessions: { id: string; runs: (string | undefined)[] }[];
  jobs: JobEvidence[];
  interval?: IntervalEvidence;
  uploads: UploadEvidence[];
  slots: SlotEvidence[];
  webhooks: { header: string; message: WebhookMessage }[];
  marks: Mark[];
  /** What no client should be told, or waited for in vain. */
  unexpected: { work: string; what: string }[];
}

export type StoreName = 'sqlite' | 'postgres' | 'docker';

/** Something that was done to a process; the victim was back `to`. */
export interface Disruption {
  number: number;
  how: string;
  target: string;
  from: number;
  to: number;
}

export interface RunEvidence {
  /** The name of the work, and which of its runs this is. */
  work: string;
  /** The id in the script of its prompt; a list shows it in `input`. */
  script: string;
  /** The id in every answer to its create; all of them have to be the same. */
  ids: string[];
  /** The `data` of each frame that the client saw, across all connections, in the order it saw them. */
  seen: string[];
  texts: string[];
  reasoning: string[];
  calls: CallEvidence[];
  webhook: boolean;
  /** What the answers to a stop said. */
  stop: 'never asked' | 'asked' | 'accepted';
  /** Choices that the server confirmed with 200, by request id. */
  approved: Record<string, string>;
  session?: string;
  /** The upload that was in its workspace from the beginning. */
  upload?: { path: string; sha256: string };
  fork?: { of: string; at: number | undefined; steps: number };
}

export interface CallEvidence {
  mark: string;
  manner: CallManner;
  step: number;
}

export interface JobEvidence {
  work: string;
  script: string;
  /** Absent if no answer came: then it may or may not exist. */
  id?: string;
  texts: string[];
  calls: CallEvidence[];
}

/** The job of the round that is due every minute, from `first` until it was deleted. */
export interface IntervalEvidence {
  id: string;
  script: string;
  first: number;
  deleted: number;
}

export interface UploadEvidence {
  id: string;
  bytes: number;
  sha256: string;
  deletion: 'never asked' | 'asked' | 'confirmed';
}

export interface SlotEvidence {
  trajectory: string;
  /** The index of the server that has it. */
  server: number;
  /** Of calls that were answered with success, and whose files nobody said were lost. */
  kept: string[];
  /** Of all calls that were sent. */
  sent: string[];
}

/** One execution of a call: the same mark with two moments was made twice. */
export interface Mark {
  mark: string;
  moment: string;
}

export interface Violation {
  /** The rule that is broken. */
  rule: string;
  /** The run, session, job, file or slot. */
  of: string;
  what: string;
}

/** The shell command of a call: it leaves a line with its mark and the moment, and at its very end a file. */
export function markingCommand(mark: string, manner: CallManner): string {
  const leave = `mkdir -p made; echo "${mark} $EPOCHREALTIME" >> marks`;
  const done = `echo ${mark} > made/${mark}`;
  if (manner === 'slow') return `${leave}; sleep 0.7; ${done}`;
  if (manner === 'background') return `${leave}; ${done}; sleep 3600.${mark.replace(/\D/g, '')}`;
  if (manner === 'approved' || manner === 'denied') return `rm -rf build; ${leave}; ${done}`;
  return `${leave}; ${done}`;
}

/** What the client answers when it is asked to run a call. */
export function clientOutput(mark: string): string {
  return `The client has looked up ${mark}.`;
}

export function parseMarks(text: string): Mark[] {
  return [...text.matchAll(/^(\S+) (\d+\.\d+)$/gm)].map(([, mark, moment]) => ({
    mark: mark!,
    moment: moment!,
  }));
}
