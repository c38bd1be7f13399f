/**
 * Requests that may take longer to arrive than others: those whose route streams the body. The limit for a whole request, which
 * Node enforces for all requests of a server alike, does not count for them. Instead they must not stand still.
 */
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { onClose } from './on-close.ts';

/** A client may send nothing for this long while the server would take more. */
const SILENT_MS = 60_000;

const sockets = new WeakSet<Socket>();

export function isLongRequest(socket: Socket): boolean {
  return sockets.has(socket);
}

/** Lifts the time limit until the response has ended. A client that sends nothing is cut off. */
export function allowLongRequest({ raw }: FastifyRequest, reply: FastifyReply, silentMs = SILENT_MS): void {
  const { socket } = raw;
  sockets.add(socket);
  let seen = socket.bytesRead;
  const timer = setInterval(() => {
    if (raw.complete) return clearInterval(timer);
    // If the server does not read, the client cannot send.
    const isRead = raw.readableLength === 0;
    if (socket.bytesRead === seen && isRead) socket.destroy();
    seen = socket.bytesRead;
  }, silentMs);
  onClose(reply, () => {
    clearInterval(timer);
    sockets.delete(socket);
  });
}
