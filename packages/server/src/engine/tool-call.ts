/**
 * One tool call of a run with all its fields: a fold of its records, for people who want to see the call and its
 * result.
 */
import type { RunCall } from '@talaria/protocol';
import type { ToolCallPart } from '../journal/messages.ts';
import type { LogRecord } from '../journal/records.ts';
import { maskValue } from '../secrets/credential-patterns.ts';

/** Undefined when the run has started no such call. Everything shown is masked. */
export function findCall(
  runId: string,
  callId: string,
  records: readonly LogRecord[],
  mask: (text: string) => string,
): RunCall | undefined {
  let part: ToolCallPart | undefined;
  let call: RunCall | undefined;
  for (const record of records) {
    switch (record.event) {
      case 'step.completed':
        part = record.private.content.find(isCall(callId)) ?? part;
        break;
      case 'tool.started':
        if (record.public.tool_call_id !== callId) break;
        call = {
          object: 'hermes.run.call',
          run_id: runId,
          tool_call_id: callId,
          tool: record.public.tool,
          arguments: part === undefined ? record.public.arguments : wholeArguments(part, mask),
          output: null,
          error: null,
          started_at: record.at / 1000,
          completed_at: null,
        };
        break;
      case 'approval.request': {
        if (call === undefined || record.public.tool_call_id !== callId) break;
        const { request_id, pattern_key, description } = record.public;
        call.approval = { request_id, pattern_key, description, requested_at: record.at / 1000 };
        break;
      }
      case 'approval.responded': {
        const { approval } = call ?? {};
        if (approval === undefined || !record.private.request_ids.includes(approval.request_id)) break;
        const { request_id: _, resolved: __, ...answer } = record.public;
        Object.assign(approval, answer, { answered_at: record.at / 1000 });
        break;
      }
      case 'tool.completed': {
        if (call === undefined || record.public.tool_call_id !== callId) break;
        const { error, exit_code } = record.public;
        call.output = mask(record.private.output);
        call.error = error;
        call.completed_at = record.at / 1000;
        if (exit_code !== undefined) call.exit_code = exit_code;
        break;
      }
    }
  }
  return call;
}

/** Whether the record is about the call, or may be. */
export function isAbout(callId: string, record: LogRecord): boolean {
  switch (record.event) {
    case 'step.completed':
      return record.private.content.some(isCall(callId));
    case 'tool.started':
    case 'tool.completed':
    case 'approval.request':
      return record.public.tool_call_id === callId;
    default:
      return record.event === 'approval.responded';
  }
}

function isCall(callId: string) {
  return (part: { type: string }): part is ToolCallPart =>
    part.type === 'tool_call' && (part as ToolCallPart).id === callId;
}

/** An object, or the model's text if that is not a JSON object. */
function wholeArguments(part: ToolCallPart, mask: (text: string) => string): RunCall['arguments'] {
  try {
    const value: unknown = JSON.parse(part.arguments);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return maskValue(value, mask) as Record<string, unknown>;
    }
  } catch {
    // Models sometimes write invalid JSON.
  }
  return mask(part.arguments);
}
