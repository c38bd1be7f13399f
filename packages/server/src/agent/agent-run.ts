/**
 * What the agent gets to work on one run. It gets functions, not services: it cannot reach the journal, another run or
 * the server.
 */
import type { ApprovalChoice, RunFailureCode, ToolOutput } from '@talaria/protocol';
import type { LogRecord, NewRecord } from '../journal/records.ts';
import type { Secrets } from '../secrets/secrets.ts';
import type { StepEnded } from '../telemetry/facts.ts';
import type { Gate } from './approvals/gate.ts';
import type { Model } from './model/model.ts';
import type { CheckValue } from './output-form.ts';
import type { Price } from './price.ts';
import type { Progress } from './progress.ts';
import type { RecoveredWorkspace } from './tools/recovered-workspace.ts';
import type { ToolSet } from './tools/tool.ts';
import type { WorkspaceNews } from './workspace-news.ts';

export interface Limits {
  maxSteps: number;
  /** 0 means no limit. */
  maxTokens: number;
  /** How many tokens of conversation the model gets for a step, estimated; 0 means no limit. */
  contextTokens: number;
  modelRetries: number;
  /** A model that is silent for this long is given up. */
  modelIdleMs: number;
  approvalTimeoutMs: number;
  /** How long a call of a client tool waits for its output. */
  clientToolTimeoutMs: number;
}

export interface AgentRun {
  /** Kept up to date: `append` applies the records it has appended, and posts are applied as they arrive. */
  readonly progress: Progress;
  readonly model: Model;
  /** Undefined where it is not known. */
  readonly price?: Price | undefined;
  /** The present tools: the client may send others along with its outputs. */
  tools(): ToolSet;
  readonly gate: Gate;
  readonly limits: Limits;
  readonly systemPrompt: string;
  /** Aborts when the run has to end now; its reason says why. */
  readonly signal: AbortSignal;
  /** Aborts when the server shuts down: stop at the next point from which another owner can continue. */
  readonly draining: AbortSignal;
  /** Resolves when the records are durable. */
  append(...records: NewRecord[]): Promise<LogRecord[]>;
  /** Resolves when the files are saved for another owner, where that is configured. Called while no tool call runs. */
  keepFiles(): Promise<void>;
  /** What the model and clients are told about files that were lost with the sandbox. */
  newsOf(workspace: RecoveredWorkspace): WorkspaceNews;
  /** Answers the outstanding approval in the agent's own name; false when somebody else answered first. */
  answerApproval(requestId: string, choice: ApprovalChoice, reason: string): Promise<boolean>;
  /** Closes calls of client tools that got no output in time; some may have been answered meanwhile. */
  answerCalls(outputs: readonly ToolOutput[]): Promise<void>;
  /** Whether all these patterns are granted for this run's session. */
  isGranted(patternKeys: readonly string[]): Promise<boolean>;
  /** Checks an answer with a requested format. */
  readonly checkValue: CheckValue;
  /** Resolves at the next post to the run, after `progress` has applied it. */
  nextPost(): Promise<void>;
  /**
   * Gives up the run's place among those at work, but not its sandbox, until `wait` is over and a place is free. `given`
   * resolves when the sandbox is needed elsewhere or has waited for too long. Throws `Parked` if it cannot be kept.
   */
  waitWithSandbox(untilMs: number, wait: (given: Promise<void>) => Promise<void>): Promise<void>;
  /** Reports a call of the model to the metrics, however it ended. */
  stepEnded(step: StepEnded): void;
  readonly secrets: Secrets;
  now(): number;
}

/** The run ends as `completed`. */
export interface AgentAnswer {
  output: string;
  /** The parsed value of an output with a requested format. */
  parsed?: unknown;
  /** Records of the last step, which become durable with the end of the run or before it. */
  lastStep?: NewRecord[];
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

/** The run waits for somebody outside. It needs no worker until a post comes after this one, or `untilMs` has passed. */
export class Parked extends Handover {
  override readonly name = 'Parked';
  readonly untilMs: number;
  readonly seenPostedPos: number;
  constructor(untilMs: number, seenPostedPos: number) {
    super();
    this.untilMs = untilMs;
    this.seenPostedPos = seenPostedPos;
  }
}
