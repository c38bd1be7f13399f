/** `/v1/runs/{id}/calls`: the tool calls of a run, with their whole arguments and outputs. */
import type { RunCall } from '@talaria/protocol';
import { type RequestOptions, segment, type Transport } from '../transport.ts';

export class Calls {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The whole arguments and output of a call. Events show only their beginning. */
  get(runId: string, toolCallId: string, options?: RequestOptions): Promise<RunCall> {
    const path = `/v1/runs/${segment(runId)}/calls/${segment(toolCallId)}`;
    return this.#transport.json<RunCall>({ method: 'GET', path, repeat: true }, options);
  }
}
