/**
 * What the agent is given to work on one run. It gets functions, not services: it cannot reach the journal,
 * another run or the server.
 */
import type { ApprovalChoice, RunFailureCode, ToolOutput } from '@talaria/protocol';
import type { LogRecord, NewRecord } from '../journal/records.ts';
import type { Secrets } from '../secrets/secrets.ts';
import type { StepEnded } from '../telemetry/facts.ts';
import type { Gate } from './approvals/gate.ts';
import type { Model } from './model/model.ts';
import type { Progress } from './progress.ts';
import type { ToolSet } from './tools/tool.ts';

export interface Limits {
  maxSteps: number;
  /** 0 is no limit. */
  maxTokens: number;
  /** How much the model is given to read for a step, estimated; 0 is no limit. */
  contextTokens: number;
  modelRetries: number;
  /** A model that says nothing for this long is given up. */
  modelIdleMs: number;
  approvalTimeoutMs: number;
  /** How long a call of a client tool waits for its output. */
  clientToolTimeoutMs: number;
}

export interface AgentRun {
  /** Kept up to date: `append` applies what it has appended, posts are applied as they arrive. */
  readonly progress: Progress;
  readonly model: Model;
  readonly tools: ToolSet;
  readonly gate: Gate;
  readonly limits: Limits;
  readonly systemPrompt: string;
  /** Aborted when the run has to end now; its reason says why. */
  readonly signal: AbortSignal;
  /** Aborted when the server shuts down: stop at the next point from which another owner can go on. */
  readonly draining: AbortSignal;
  /** Resolves when the records are durable. */
  append(...records: NewRecord[]): Promise<LogRecord[]>;
  /** Resolves when the files are kept for another owner, where that is asked for. Called while no call is under way. */
  keepFiles(): Promise<void>;
  /** Answers the outstanding approval in the agent's own name; false when somebody was faster. */
  answerApproval(requestId: string, choice: ApprovalChoice, reason: string): Promise<boolean>;
  /** Answers calls of client tools for want of an output; some may have been answered by now. */
  answerCalls(outputs: readonly ToolOutput[]): Promise<void>;
  /** Whether all these patterns are granted for this run's session. */
  isGranted(patternKeys: readonly string[]): Promise<boolean>;
  /** Resolves at the next post to the run, after `progress` took it in. */
  nextPost(): Promise<void>;
  /** Tells those who measure of a call to the model, however it ended. */
  stepEnded(step: StepEnded): void;
  readonly secrets: Secrets;
  now(): number;
}

/** The run ends as `failed`. */
export class RunFailure extends Error {
  override readonly name = 'RunFailure';
  readonly code: RunFailureCode;
  constructor(code: RunFailureCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** The work ends here and continues under another owner. */
export class Handover extends Error {
  override readonly name: string = 'Handover';
}

/** The run waits for its client, and needs no worker until that has answered or `untilMs`. */
export class Parked extends Handover {
  override readonly name = 'Parked';
  readonly untilMs: number;
  constructor(untilMs: number) {
    super();
    this.untilMs = untilMs;
  }
}
