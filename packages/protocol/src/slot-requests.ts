/**
 * Reads the requests for slots (PROTOCOL.md, "Slots"). An error inside a call's `args` becomes the result of that call.
 */
import { invalid, optionalFlag, optionalString, parseObject } from './fields.ts';

export interface SlotCallRequest {
  slotId: string;
  tool: string;
  args: Record<string, unknown>;
}

export interface ExecuteSlots {
  calls: SlotCallRequest[];
  timeoutS: number | undefined;
}

const TRAJECTORY_ID_MAX = 256;
/** Each result may hold about 50 KB of output, and all results of a batch are in memory at once. */
const CALLS_MAX = 256;

/** The requested trajectory; undefined for a slot without one. */
export function parseAcquireSlot(body: unknown): string | undefined {
  const trajectoryId = optionalString(parseObject(body), 'trajectory_id');
  if (trajectoryId === undefined) return undefined;
  if (trajectoryId === '' || trajectoryId.length > TRAJECTORY_ID_MAX || /\p{Cc}/u.test(trajectoryId)) {
    throw invalid(
      'trajectory_id',
      `'trajectory_id' must have 1 to ${TRAJECTORY_ID_MAX} characters and no control characters`,
    );
  }
  return trajectoryId;
}

export function parseExecuteSlots(body: unknown, maxTimeoutS: number): ExecuteSlots {
  const { requests, timeout_s } = parseObject(body);
  if (!Array.isArray(requests) || requests.length === 0 || requests.length > CALLS_MAX) {
    throw invalid('requests', `'requests' must be an array of 1 to ${CALLS_MAX} calls`);
  }
  return { calls: requests.map(parseCall), timeoutS: parseTimeout(timeout_s, maxTimeoutS) };
}

export function parseReleaseSlot(body: unknown): { resetWorkspace: boolean } {
  return { resetWorkspace: optionalFlag(parseObject(body), 'reset_workspace') };
}

function parseCall(call: unknown, index: number): SlotCallRequest {
  const param = `requests[${index}]`;
  if (typeof call !== 'object' || call === null || Array.isArray(call)) {
    throw invalid(param, `'${param}' must be an object with 'slot_id', 'tool' and 'args'`);
  }
  const { slot_id, tool, args } = call as Record<string, unknown>;
  if (typeof slot_id !== 'string' || slot_id === '') {
    throw invalid(`${param}.slot_id`, `'${param}.slot_id' must be the id of a slot`);
  }
  if (typeof tool !== 'string' || tool === '') {
    throw invalid(`${param}.tool`, `'${param}.tool' must be the name of a tool`);
  }
  if (args !== undefined && args !== null && (typeof args !== 'object' || Array.isArray(args))) {
    throw invalid(`${param}.args`, `'${param}.args' must be an object`);
  }
  return { slotId: slot_id, tool, args: (args ?? {}) as Record<string, unknown> };
}

function parseTimeout(value: unknown, maxS: number): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'number' && value > 0 && value <= maxS) return value;
  throw invalid('timeout_s', `'timeout_s' must be a number over 0 and at most ${maxS}`);
}
