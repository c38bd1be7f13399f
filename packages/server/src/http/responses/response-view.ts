/** How to show the agent's calls to a client: decided by the client's headers. */
import type { IncomingHttpHeaders } from 'node:http';
import type { CreateResponse } from '@talaria/protocol';
import type { FastifyRequest } from 'fastify';
import type { ResponseView } from '../../responses/response-settings.ts';
import { expectsOlderItems, isHermesClient, refusesUnknownItems } from '../inline/client-traits.ts';
import { header } from '../requests/header.ts';

const FORMS: readonly ResponseView['toolItems'][] = ['mcp_call', 'function_call', 'none'];

export function viewFor(
  request: FastifyRequest,
  asked: CreateResponse,
  tellApprovals: boolean,
): Omit<ResponseView, 'model'> {
  const { headers } = request;
  const wanted = FORMS.find((form) => form === header(request, 'x-hermes-tool-items'));
  const isHermes = isHermesClient(headers);
  return {
    toolItems: wanted ?? usualForm(headers, asked),
    tellsApprovals: tellApprovals && asked.stream && asked.outputForm === undefined && !isHermes,
  };
}

function usualForm(headers: IncomingHttpHeaders, { clientTools }: CreateResponse): ResponseView['toolItems'] {
  if (refusesUnknownItems(headers)) return 'none';
  // A client with functions of its own would try to run the server's calls, too.
  return expectsOlderItems(headers) && clientTools === undefined ? 'function_call' : 'mcp_call';
}
