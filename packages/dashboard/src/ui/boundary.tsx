/** Keeps the rest of the page usable when a part of it cannot be drawn. */
import type { ComponentChildren } from 'preact';
import { useEffect, useErrorBoundary } from 'preact/hooks';
import { Problem } from './problem.tsx';

/** `at`: where it is shown; another place begins without the error of the last one. */
export function Boundary({ at, children }: { at: string; children: ComponentChildren }) {
  const [error, reset] = useErrorBoundary();
  useEffect(() => reset(), [at]);
  if (error === undefined) return <>{children}</>;
  return (
    <main>
      <h1>This page cannot be shown</h1>
      <Problem error={error} retry={reset} />
    </main>
  );
}
