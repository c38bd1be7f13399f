/** A request whose response is a stream of server-sent events. */
import { createSseParser } from '@talaria/protocol';
import { type Api, isConnectionLoss } from './api.ts';

export interface PostedFrame {
  /** Empty if the frame has no name. */
  event: string;
  data: string;
}

export interface PostedStream {
  status: number;
  headers: Headers;
  frames: PostedFrame[];
  comments: string[];
  /** The server ended the stream normally. */
  clean: boolean;
}

export interface PostedStreamOptions {
  headers?: Record<string, string>;
  onHead?: (headers: Headers) => void;
  onFrame?: (frame: PostedFrame) => void;
  /** Stop reading (and disconnect) when this returns true. */
  until?: (frame: PostedFrame) => boolean;
}

type Target = Pick<Api, 'baseUrl' | 'key'>;

export function postStream(
  target: Target,
  path: string,
  body: unknown,
  options?: PostedStreamOptions,
): Promise<PostedStream> {
  return readStream(target, path, { method: 'POST', body: JSON.stringify(body) }, options);
}

export function getStream(
  target: Target,
  path: string,
  options?: PostedStreamOptions,
): Promise<PostedStream> {
  return readStream(target, path, { method: 'GET' }, options);
}

async function readStream(
  { baseUrl, key }: Target,
  path: string,
  request: { method: string; body?: string },
  { headers = {}, onHead, onFrame, until }: PostedStreamOptions = {},
): Promise<PostedStream> {
  const abort = new AbortController();
  const response = await fetch(baseUrl + path, {
    ...request,
    headers: { ...(key === undefined ? {} : { authorization: `Bearer ${key}` }), ...headers },
    signal: abort.signal,
  });
  onHead?.(response.headers);
  const { status, headers: answered } = response;
  const stream: PostedStream = { status, headers: answered, frames: [], comments: [], clean: false };
  let stopped = false;
  const parser = createSseParser({
    onMessage({ event, data }) {
      if (stopped) return;
      stream.frames.push({ event, data });
      onFrame?.({ event, data });
      if (until?.({ event, data })) stopped = true;
    },
    onComment: (text) => stream.comments.push(text),
  });
  const decoder = new TextDecoder();
  try {
    for await (const chunk of response.body!) {
      parser.feed(decoder.decode(chunk as Uint8Array, { stream: true }));
      if (stopped) break;
    }
    stream.clean = !stopped;
  } catch (error) {
    if (!isConnectionLoss(error)) throw error;
  } finally {
    abort.abort();
  }
  return stream;
}
