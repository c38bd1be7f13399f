/** How to show the agent's calls to a client: decided by the client's headers. */
import type { CreateResponse } from '@talaria/protocol';
import type { FastifyRequest } from 'fastify';
import type { ResponseView } from '../../responses/response-settings.ts';
import { isHermesClient } from '../inline/client-traits.ts';
import { header } from '../requests/header.ts';

export function viewFor(
  request: FastifyRequest,
  asked: CreateResponse,
  tellApprovals: boolean,
): Omit<ResponseView, 'model'> {
  const wanted = header(request, 'x-hermes-tool-items');
  const isHermes = isHermesClient(request.headers);
  // A client with functions of its own would try to run the server's calls, too.
  const isOlder = wanted === 'function_call' || (isHermes && asked.clientTools === undefined);
  return {
    toolItems: isOlder && wanted !== 'mcp_call' ? 'function_call' : 'mcp_call',
    tellsApprovals: tellApprovals && asked.stream && asked.outputForm === undefined && !isHermes,
  };
}
