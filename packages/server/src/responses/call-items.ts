/**
 * Tool calls as items. `function_call` tells every client of this dialect to run the call, so it is only used for the
 * client's own tools. A call that the server runs is an `mcp_call`, open until it has its outcome.
 *
 * Clients of Hermes servers expect those as `function_call`, followed by `function_call_output`; they get that form. Clients that
 * break on either get no items of them.
 */
import type { PendingCall, ResponseItem } from '@talaria/protocol';
import type { ResponseSettings } from '../journal/responses.ts';
import { toClientCallId } from './call-ids.ts';
import type { ItemId, OutputItems, Slot } from './output-items.ts';

/** A call as it is shown: without secrets. */
export interface ShownCall {
  id: string;
  tool: string;
  /** JSON. */
  arguments: string;
}

type McpCall = Extract<ResponseItem, { type: 'mcp_call' }>;

interface OpenCall {
  slot: Slot;
  item: McpCall;
}

const SERVER_LABEL = 'talaria';
const CUT_OFF = 'The response ended before this call did.';

export class CallItems {
  readonly #items: OutputItems;
  readonly #itemId: ItemId;
  readonly #form: ResponseSettings['tool_items'];
  /** The numbers of all calls so far, by call id. */
  readonly #numbers = new Map<string, number>();
  readonly #open = new Map<string, OpenCall>();

  constructor(items: OutputItems, itemId: ItemId, form: ResponseSettings['tool_items']) {
    this.#items = items;
    this.#itemId = itemId;
    this.#form = form;
  }

  start(call: ShownCall): void {
    const n = this.#numbers.size;
    this.#numbers.set(call.id, n);
    if (this.#form === 'function_call') this.#addFunctionCall(n, call);
    else if (this.#form === 'mcp_call') this.#open.set(call.id, this.#addMcpCall(n, call));
  }

  complete(callId: string, output: string, failed: boolean): void {
    if (this.#form === 'mcp_call') {
      const result = failed
        ? { status: 'failed' as const, output: null, error: output }
        : { status: 'completed' as const, output };
      this.#close(callId, result);
      return;
    }
    const n = this.#numbers.get(callId);
    if (n === undefined || this.#form === 'none') return;
    const item = {
      id: this.#itemId('fco', n),
      type: 'function_call_output',
      call_id: callId,
      output,
    } as const;
    const slot = this.#items.add({ ...item, status: 'in_progress' });
    this.#items.done(slot, { ...item, status: 'completed' });
  }

  /** Asks the client to run calls of its own. */
  askFor(runId: string, calls: readonly PendingCall[]): void {
    for (const { tool_call_id: id, tool, arguments: args } of calls) {
      const n = this.#numbers.size;
      this.#numbers.set(id, n);
      this.#addFunctionCall(n, {
        id: toClientCallId(runId, id),
        tool,
        arguments: JSON.stringify(args),
      });
    }
  }

  /** The open calls will get no outcome any more. */
  cutOff(): void {
    for (const callId of [...this.#open.keys()]) {
      this.#close(callId, { status: 'incomplete', output: null, error: CUT_OFF });
    }
  }

  #addMcpCall(n: number, { tool: name, arguments: args }: ShownCall): OpenCall {
    const id = this.#itemId('mcp', n);
    const item: McpCall = {
      id,
      type: 'mcp_call',
      status: 'in_progress',
      server_label: SERVER_LABEL,
      name,
      arguments: args,
      output: null,
      error: null,
      approval_request_id: null,
    };
    const slot = this.#items.add({ ...item, arguments: '' }, () => item);
    const place = { item_id: id, output_index: slot.outputIndex };
    this.#items.emit('response.mcp_call.in_progress', place);
    this.#items.emit('response.mcp_call_arguments.delta', { ...place, delta: args });
    this.#items.emit('response.mcp_call_arguments.done', { ...place, arguments: args });
    return { slot, item };
  }

  #close(callId: string, result: Partial<McpCall>): void {
    const call = this.#open.get(callId);
    if (call === undefined) return;
    this.#open.delete(callId);
    const ended = result.status === 'completed' ? 'response.mcp_call.completed' : 'response.mcp_call.failed';
    this.#items.emit(ended, { item_id: call.item.id!, output_index: call.slot.outputIndex });
    this.#items.done(call.slot, { ...call.item, ...result });
  }

  #addFunctionCall(n: number, { id: callId, tool: name, arguments: args }: ShownCall): void {
    const id = this.#itemId('fc', n);
    const call = { id, type: 'function_call', call_id: callId, name } as const;
    const slot = this.#items.add({ ...call, status: 'in_progress', arguments: '' });
    const place = { item_id: id, output_index: slot.outputIndex };
    this.#items.emit('response.function_call_arguments.delta', { ...place, delta: args });
    this.#items.emit('response.function_call_arguments.done', { ...place, name, arguments: args });
    this.#items.done(slot, { ...call, status: 'completed', arguments: args });
  }
}
