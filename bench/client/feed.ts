/** A reader of `GET /v1/feed`, which tells when it has seen a run. */

import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';

export interface FeedReader extends Disposable {
  /** The time at which the run was in the feed. A run that was shown before the call counts, too. */
  seen(runId: string): Promise<number>;
}

export async function watchFeed(url: string): Promise<FeedReader> {
  const request = get(`${url}/v1/feed`, { agent: false });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  let text = '';
  let arrived = 0;
  response.setEncoding('utf8').on('data', (part: string) => {
    arrived = performance.now();
    text += part;
  });
  return {
    async seen(runId) {
      while (!text.includes(runId)) await once(response, 'data');
      text = '';
      return arrived;
    },
    [Symbol.dispose]: () => request.destroy(),
  };
}
