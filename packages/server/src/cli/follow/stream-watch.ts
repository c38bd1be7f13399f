/**
 * Whether the stream of a run is connected, seen from the requests the client makes: it reconnects by itself, and tells
 * nobody. A second request for events means that the connection before it was lost.
 */
import type { TalariaOptions } from '@talaria/client';

/** `trying` again, the try `failed`, `open` again. */
export type ConnectionState = 'trying' | 'failed' | 'open';

type Fetch = NonNullable<TalariaOptions['fetch']>;

export class StreamWatch {
  onChange: (state: ConnectionState) => void = () => {};
  #requests = 0;

  readonly fetch: Fetch = async (url, init) => {
    if (!new URL(url).pathname.endsWith('/events') || this.#requests++ === 0) return fetch(url, init);
    this.onChange('trying');
    try {
      const response = await fetch(url, init);
      this.onChange(response.ok ? 'open' : 'failed');
      return response;
    } catch (error) {
      this.onChange('failed');
      throw error;
    }
  };
}
