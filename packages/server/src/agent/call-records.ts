/**
 * What is recorded of a tool call: its start, the question about it, its outcome. Clients see these records, so the texts
 * in them are masked, and cut where they may be large. The model gets outputs whole.
 */
import { type ApprovalChoice, createId, type PendingCall } from '@talaria/protocol';
import type { NewRecord, QueuedApproval } from '../journal/records.ts';
import { maskValue } from '../secrets/credential-patterns.ts';
import type { AgentRun } from './agent-run.ts';
import type { Verdict } from './approvals/gate.ts';
import type { ToolCallProgress } from './progress.ts';
import { type ClientCall, type PreparedCall, parseArguments, type ToolOutcome } from './tools/tool.ts';

/** The preview of a call, on one line. */
const LINE_CHARS = 200;
/** The shown output of a call. */
const PREVIEW_CHARS = 500;
/** Arguments are shown up to this size as JSON; the call itself always gets them whole. */
const ARGUMENTS_CHARS = 8_000;
const COMMAND_CHARS = 8_000;
const CHOICES: ApprovalChoice[] = ['once', 'session', 'always', 'deny'];

/** A call with what the gate says about it. */
export interface PlannedCall {
  progress: ToolCallProgress;
  prepared: PreparedCall | ClientCall | { refusal: string };
  verdict: Verdict;
}

export function started(run: AgentRun, { progress, prepared, verdict }: PlannedCall): NewRecord {
  const { call } = progress;
  const client = 'client' in prepared ? prepared.client : undefined;
  const expires_at = (run.now() + run.limits.clientToolTimeoutMs) / 1000;
  return {
    event: 'tool.started',
    public: {
      tool: run.secrets.mask(call.tool),
      preview: maskedStart(run, 'preview' in prepared ? prepared.preview : '', LINE_CHARS),
      tool_call_id: call.id,
      arguments: shownArguments(run, call.arguments),
      ...(client === undefined ? {} : { client: true }),
    },
    private: {
      gated: verdict.kind === 'ask',
      ...(client === undefined ? {} : { client: { arguments: runnable(run, client.arguments), expires_at } }),
    },
  };
}

export function question(run: AgentRun, { progress, prepared, verdict }: PlannedCall): QueuedApproval {
  const keys = verdict.kind === 'ask' ? verdict.keys : [];
  const command = 'execute' in prepared ? (prepared.question?.text ?? prepared.command ?? '') : '';
  return {
    request_id: createId('apr'),
    tool_call_id: progress.call.id,
    command: maskedStart(run, command, COMMAND_CHARS),
    pattern_key: keys[0] ?? '',
    pattern_keys: [...keys],
    description: keys.join(', '),
    choices: CHOICES,
  };
}

export function completed(
  run: AgentRun,
  call: ToolCallProgress,
  outcome: ToolOutcome,
  { interrupted = false, endedAt = run.now() }: { interrupted?: boolean; endedAt?: number } = {},
): NewRecord {
  const news = outcome.workspace && run.newsOf(outcome.workspace);
  const output = news?.notice === undefined ? outcome.output : `${outcome.output} ${news.notice}`;
  return {
    event: 'tool.completed',
    public: {
      tool: run.secrets.mask(call.call.tool),
      duration: Math.max(0, endedAt - call.startedAt) / 1000,
      error: outcome.isError,
      preview: maskedStart(run, output, PREVIEW_CHARS),
      tool_call_id: call.call.id,
      ...(outcome.exitCode === undefined ? {} : { exit_code: outcome.exitCode }),
      ...news?.payload,
    },
    private: { output, ...(interrupted ? { interrupted } : {}) },
  };
}

export function toPendingCall(run: AgentRun, { call }: ToolCallProgress, expiresAt: number): PendingCall {
  return {
    tool_call_id: call.id,
    tool: run.secrets.mask(call.tool),
    arguments: runnable(run, parseArguments(call.arguments)),
    expires_at: expiresAt / 1000,
  };
}

/** The arguments for the client: whole, but without the secrets of this server. */
function runnable(run: AgentRun, args: Record<string, unknown>): Record<string, unknown> {
  return maskValue(args, run.secrets.maskKnown) as Record<string, unknown>;
}

function shownArguments(run: AgentRun, json: string): Record<string, unknown> {
  if (json.length > ARGUMENTS_CHARS) return { truncated: maskedStart(run, json, ARGUMENTS_CHARS) };
  try {
    return maskValue(parseArguments(json), run.secrets.mask) as Record<string, unknown>;
  } catch {
    return { invalid: run.secrets.mask(json) };
  }
}

/**
 * The text may be large, so it is cut before it is masked, and again after. Neither cut shows half of a secret: at the
 * first one, whatever could be the beginning of a secret is left out, and the second one sees only masked text.
 */
function maskedStart(run: AgentRun, text: string, max: number): string {
  const start = text.slice(0, 4 * max);
  const whole = start.length === text.length;
  const masked = run.secrets.mask(whole ? start : run.secrets.filter().push(start));
  if (whole && masked.length <= max) return masked;
  // The cut must not leave half of a surrogate pair.
  return `${masked.slice(0, max - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}
