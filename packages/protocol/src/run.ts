import type { Static } from 'typebox';
import type * as schemas from './schemas/runs.ts';

export type Usage = Static<typeof schemas.UsageSchema>;
export type RunStatus = Static<typeof schemas.RunStatusSchema>;
export type Run = Static<typeof schemas.RunSchema>;
export type RunList = Static<typeof schemas.RunListSchema>;
export type RunChanged = Static<typeof schemas.RunChangedSchema>;
export type RunCreated = Static<typeof schemas.RunCreatedSchema>;
export type RunStop = Static<typeof schemas.RunStopSchema>;
export type RunSteer = Static<typeof schemas.RunSteerSchema>;
export type RunApprovalResponse = Static<typeof schemas.RunApprovalResponseSchema>;
export type RunToolOutputs = Static<typeof schemas.RunToolOutputsSchema>;
export type RunCall = Static<typeof schemas.RunCallSchema>;
export type RunQueue = Static<typeof schemas.RunQueueSchema>;
export type PendingCall = Static<typeof schemas.PendingCallSchema>;
export type ToolOutputsRequest = Static<typeof schemas.ToolOutputsRequestSchema>;
export type FunctionToolRequest = Static<typeof schemas.FunctionToolSchema>;
export type ModelSettings = Static<typeof schemas.ModelSettingsSchema>;
export type Artifact = Static<typeof schemas.ArtifactSchema>;
export type WrittenArtifact = Static<typeof schemas.WrittenArtifactSchema>;
export type ArtifactRemoved = Static<typeof schemas.ArtifactRemovedSchema>;
export type ArtifactList = Static<typeof schemas.ArtifactListSchema>;
export type ChangedFile = Static<typeof schemas.ChangedFileSchema>;
export type RunDiff = Static<typeof schemas.RunDiffSchema>;
export type ApprovalRequest = Static<typeof schemas.ApprovalRequestSchema>;
export type ApprovalChoice = Static<typeof schemas.ApprovalChoiceSchema>;
export type ForkedFrom = Static<typeof schemas.ForkedFromSchema>;
export type ForkRunRequest = Static<typeof schemas.ForkRunRequestSchema>;
export type UpdateRunRequest = Static<typeof schemas.UpdateRunRequestSchema>;
export type CreateRunRequest = Static<typeof schemas.CreateRunRequestSchema>;
export type ApprovalAnswerRequest = Static<typeof schemas.ApprovalAnswerSchema>;
export type InputMessage = Static<typeof schemas.MessageSchema>;

export const RUN_STATUSES: readonly RunStatus[] = [
  'started',
  'running',
  'waiting_for_approval',
  'waiting_for_tool',
  'stopping',
  'completed',
  'failed',
  'cancelled',
];

const TERMINAL_STATUSES: ReadonlySet<string> = new Set<RunStatus>(['completed', 'failed', 'cancelled']);

export function isTerminalStatus(status: string): boolean {
  return TERMINAL_STATUSES.has(status);
}

const RUN_ID = /^run_[0-9a-f]{32}$/;

export function isRunId(value: string): boolean {
  return RUN_ID.test(value);
}

/** An id with a prefix and 128 random bits, as `apr_<32 hex>`. */
export function createId(
  prefix: 'apr' | 'conv' | 'grt' | 'idem' | 'req' | 'sess' | 'server' | 'slot',
): string {
  return `${prefix}_${randomHex(16)}`;
}

/**
 * `run_<32 hex>`: the time in ms, then 80 random bits. Ids that grow with time are neighbours in an index; random ids
 * would touch one page each. An id shows when the run was created, which its owner knows, and gives nobody access: that
 * takes the API key.
 */
export function createRunId(now: number = Date.now()): string {
  return `run_${now.toString(16).padStart(12, '0')}${randomHex(10)}`;
}

/** `file-<32 hex>`: as that of a run, so that a list of files is in the order of their ids. */
export function createFileId(now: number = Date.now()): string {
  return `file-${now.toString(16).padStart(12, '0')}${randomHex(10)}`;
}

export function isFileId(text: string): boolean {
  return /^file-[0-9a-f]{32}$/.test(text);
}

/** A name for a session whose creator gave none: `api_<seconds>_<8 hex>`. */
export function createSessionId(now: number = Date.now()): string {
  return `api_${Math.floor(now / 1000)}_${randomHex(4)}`;
}

/** Fetched in advance, so that one question to the system serves many ids. */
const randomBytes = new Uint8Array(1024);
let randomBytesUsed = randomBytes.length;

function randomHex(bytes: number): string {
  if (randomBytesUsed + bytes > randomBytes.length) {
    crypto.getRandomValues(randomBytes);
    randomBytesUsed = 0;
  }
  let hex = '';
  for (const byte of randomBytes.subarray(randomBytesUsed, randomBytesUsed + bytes)) {
    hex += byte.toString(16).padStart(2, '0');
  }
  randomBytesUsed += bytes;
  return hex;
}

export const NO_USAGE: Usage = { input_tokens: 0, output_tokens: 0, total_tokens: 0 };

export function addUsage(a: Usage, b: Usage): Usage {
  const cached = sum(a.input_tokens_details?.cached_tokens, b.input_tokens_details?.cached_tokens);
  const reasoning = sum(a.output_tokens_details?.reasoning_tokens, b.output_tokens_details?.reasoning_tokens);
  return {
    input_tokens: a.input_tokens + b.input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
    total_tokens: a.total_tokens + b.total_tokens,
    ...(cached === undefined ? {} : { input_tokens_details: { cached_tokens: cached } }),
    ...(reasoning === undefined ? {} : { output_tokens_details: { reasoning_tokens: reasoning } }),
  };
}

/** The usage since then. */
export function subtractUsage(now: Usage, before: Usage): Usage {
  const minus = (a: number | undefined, b = 0): number | undefined => (a === undefined ? undefined : a - b);
  const cached = minus(now.input_tokens_details?.cached_tokens, before.input_tokens_details?.cached_tokens);
  const reasoning = minus(
    now.output_tokens_details?.reasoning_tokens,
    before.output_tokens_details?.reasoning_tokens,
  );
  return {
    input_tokens: now.input_tokens - before.input_tokens,
    output_tokens: now.output_tokens - before.output_tokens,
    total_tokens: now.total_tokens - before.total_tokens,
    ...(cached === undefined ? {} : { input_tokens_details: { cached_tokens: cached } }),
    ...(reasoning === undefined ? {} : { output_tokens_details: { reasoning_tokens: reasoning } }),
  };
}

/** Undefined when neither is known: a provider that does not count tokens did not count zero. */
function sum(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined && b === undefined ? undefined : (a ?? 0) + (b ?? 0);
}
