/** Shows that something is being loaded, then the result. Shows a failure as one, beside what was loaded earlier. */
import type { ComponentChildren } from 'preact';
import type { Resource } from '../api/resource.ts';
import { Problem } from './problem.tsx';

interface LoadingProps<T> {
  of: Resource<T>;
  children: (data: T) => ComponentChildren;
}

export function Loading<T>({ of, children }: LoadingProps<T>) {
  const { data, error, loading } = of.state.value;
  return (
    <>
      {error !== undefined && <Problem error={error} retry={of.reload} />}
      {data !== undefined ? children(data) : loading && <p class="muted">Loading…</p>}
    </>
  );
}
