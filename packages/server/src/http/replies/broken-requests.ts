/**
 * Responses to what never becomes a request: bytes that are not HTTP, a head that is too large or never ends, an
 * unknown expectation. They look like every other error.
 */
import { type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { createId, TalariaError, toErrorBody } from '@talaria/protocol';
import { ANY_METHOD } from '../requests/allowed-methods.ts';
import { isLongRequest } from '../requests/long-requests.ts';
import { requestIdOf } from '../requests/request-id.ts';
import { SECURITY_HEADERS } from './security-headers.ts';

const STATUSES: Record<string, number> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** For Fastify's `clientErrorHandler`. */
export function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && isLongRequest(socket)) return;
  const answer = answers.get(socket);
  const inAnAnswer = answer?.headersSent === true && !answer.writableFinished;
  // In the middle of a response, a second one would only garble the first.
  if (error.code === 'ECONNRESET' || !socket.writable || inAnAnswer) {
    socket.destroy();
    return;
  }
  const status = hasUnknownMethod(error) ? 405 : (STATUSES[error.code ?? ''] ?? 400);
  const { headers, body } = refusal(status, createId('req'));
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`);
}

/** Whether only the method is wrong, because Node does not know it; to Node, bytes that are not HTTP look the same. */
function hasUnknownMethod(error: NodeJS.ErrnoException & { rawPacket?: Buffer }): boolean {
  if (error.code !== 'HPE_INVALID_METHOD') return false;
  return /^[A-Za-z]+ \S+ HTTP\/1\.[01]\r\n/.test(error.rawPacket?.toString('latin1', 0, 16_384) ?? '');
}

/** The response that each connection is in. */
const answers = new WeakMap<Socket, ServerResponse>();

export function installBrokenRequests(server: Server): void {
  server.on('request', (request, response) => answers.set(request.socket, response));
  server.on('checkExpectation', (request, response) => {
    const { headers, body } = refusal(417, requestIdOf(request));
    response.writeHead(417, headers).end(body);
  });
}

const MESSAGES: Record<number, string> = {
  405: 'No route takes this method',
  408: 'The request did not arrive completely in time',
  417: "The server cannot meet the 'Expect' header of the request",
  431: 'The head of the request is too large',
};

function refusal(status: number, requestId: string): { headers: Record<string, string>; body: string } {
  const message = MESSAGES[status] ?? 'The request is not valid HTTP';
  const code = status === 405 ? 'method_not_allowed' : 'invalid_request';
  const body = JSON.stringify(toErrorBody(new TalariaError(code, { message })));
  const headers = {
    ...SECURITY_HEADERS,
    'x-request-id': requestId,
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
    ...(status === 405 ? { allow: ANY_METHOD } : {}),
  };
  return { headers, body };
}
