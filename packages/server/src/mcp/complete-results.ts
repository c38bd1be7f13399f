/**
 * Fills in what the newer protocol demands of a result and the older ones did not know: whether it is complete, and how long a
 * list may be kept. The SDK refuses a result without it, and then a call that did its work would be reported as failed, with an
 * unknown outcome. In the older protocols it changes nothing.
 */
import { isJSONRPCResultResponse, type JSONRPCMessage } from '@modelcontextprotocol/client';

export function completeResult(message: JSONRPCMessage): JSONRPCMessage {
  if (!isJSONRPCResultResponse(message)) return message;
  const { result } = message;
  const list = 'tools' in result ? { ttlMs: 0, cacheScope: 'private' } : {};
  return { ...message, result: { resultType: 'complete', ...list, ...result } };
}
