/** A page that is loaded when it is first opened. */
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Problem } from './problem.tsx';

export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let loaded: ComponentType<P> | undefined;
  return function Lazy(props: P) {
    const [Page, setPage] = useState<ComponentType<P> | undefined>(() => loaded);
    const [error, setError] = useState<unknown>();
    const begin = () => {
      setError(undefined);
      load().then((page) => {
        loaded = page;
        setPage(() => page);
      }, setError);
    };
    useEffect(() => {
      if (loaded === undefined) begin();
    }, []);
    if (error !== undefined) return <Problem error={error} retry={begin} />;
    return Page === undefined ? <p class="muted">Loading…</p> : <Page {...props} />;
  };
}
