/** One connection to `/v1/feed`: what came, in order, and where to continue. Nothing hidden, no retries. */
import { createSseParser, type Run, type RunChanged } from '@talaria/protocol';
import { type Api, isConnectionLoss } from './api.ts';
import { waitFor } from './wait-for.ts';

export class FeedReader implements AsyncDisposable {
  readonly frames: { id: string; change: RunChanged }[] = [];
  readonly comments: string[] = [];
  readonly #abort: AbortController;
  /** Resolves at the end of the connection, with whether the server ended it normally. */
  readonly ended: Promise<{ clean: boolean }>;

  /** Resolves when the server has answered; anything but a stream is an error. */
  static async open(api: Api, after?: string): Promise<FeedReader> {
    const abort = new AbortController();
    const response = await fetch(`${api.baseUrl}/v1/feed`, {
      headers: {
        ...(api.key === undefined ? {} : { authorization: `Bearer ${api.key}` }),
        ...(after === undefined ? {} : { 'last-event-id': after }),
      },
      signal: abort.signal,
    });
    if (response.status !== 200) throw new Error(`feed: ${response.status} ${await response.text()}`);
    const reader = new FeedReader(response, abort);
    await waitFor('the feed to begin', () => reader.cursor !== '');
    return reader;
  }

  private constructor(response: Response, abort: AbortController) {
    this.#abort = abort;
    this.ended = this.#read(response);
  }

  /** Where a reader that has what came so far continues. */
  get cursor(): string {
    const begin = this.comments.find((comment) => comment.startsWith('cursor '));
    return this.frames.at(-1)?.id ?? begin?.slice('cursor '.length) ?? '';
  }

  /** The run as the feed showed it last. */
  latest(runId: string): Run | undefined {
    return this.frames.findLast(({ change }) => change.run.run_id === runId)?.change.run;
  }

  /** The run, when the feed has shown it so. */
  shows(runId: string, isWanted: (run: Run) => boolean): Promise<Run> {
    return waitFor(`the feed to show ${runId}`, () => {
      const run = this.latest(runId);
      return run !== undefined && isWanted(run) && run;
    });
  }

  async #read(response: Response): Promise<{ clean: boolean }> {
    const parser = createSseParser({
      onMessage: ({ id, data }) => this.frames.push({ id, change: JSON.parse(data) as RunChanged }),
      onComment: (text) => this.comments.push(text),
    });
    const decoder = new TextDecoder();
    try {
      for await (const chunk of response.body!) {
        parser.feed(decoder.decode(chunk as Uint8Array, { stream: true }));
      }
      return { clean: true };
    } catch (error) {
      if (!this.#abort.signal.aborted && !isConnectionLoss(error)) throw error;
      return { clean: false };
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort();
    await this.ended;
  }
}
