/** The files of an event that the server did not keep: nothing failed, and there is nothing to try again. */
import { APIError } from '@talaria/client';
import type { Resource } from '../../../api/resource.ts';

export function isNotKept(files: Resource<unknown>): boolean {
  const { error } = files.state.value;
  return error instanceof APIError && error.code === 'checkpoint_gone';
}

export function NotKept() {
  return (
    <p class="empty">
      The server has not kept the files of this point. It keeps them after each step with tool calls, unless
      checkpoints are off or their limit was reached.
    </p>
  );
}
