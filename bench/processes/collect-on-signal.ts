/**
 * Loaded before a process whose memory is measured: on SIGUSR2 it collects the garbage, also that of its threads, so
 * that the figures show what is kept and not what was not cleaned up yet.
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
