/**
 * Loaded before a process whose memory is measured: collects its garbage when it gets SIGUSR2, that of its threads
 * too, so that the figures hold what is kept and not what was not cleaned up yet.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { BroadcastChannel, isMainThread } from 'node:worker_threads';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const threads = new BroadcastChannel('bench:collect');
threads.unref();

if (isMainThread) {
  process.on('SIGUSR2', () => {
    threads.postMessage('collect');
    collect();
    collect();
  });
} else {
  threads.onmessage = collect;
}
