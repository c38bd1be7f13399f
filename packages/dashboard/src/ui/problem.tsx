/** A failure, in words, with a way to try again. */
import { APIError, ConnectionError } from '@talaria/client';

export function Problem({ error, retry }: { error: unknown; retry?: (() => void) | undefined }) {
  return (
    <div class="problem" role="alert">
      <p>{describe(error)}</p>
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

export function describe(error: unknown): string {
  if (error instanceof APIError) {
    // Other servers have no codes.
    const isRoute = error.code === 'not_found' || /^(404:? )?not found/i.test(error.message);
    if (error.status === 404 && isRoute) return 'This server does not have this part of the API.';
    return error.message;
  }
  if (error instanceof ConnectionError)
    return 'The server cannot be reached. Runs continue without this page.';
  return error instanceof Error ? error.message : String(error);
}
