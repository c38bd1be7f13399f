/**
 * Loaded before a process whose memory is measured: collects its garbage when it gets SIGUSR2, so that the figures
 * hold what is kept and not what was not cleaned up yet.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  process.on('SIGUSR2', () => {
    collect();
    collect();
  });
}
