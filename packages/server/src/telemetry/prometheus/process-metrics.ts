/**
 * The process itself, under the names that dashboards for Node expect. It does not use all of prom-client's defaults:
 * those watch every garbage collection and wake the process a hundred times a second from its start, even if nobody
 * ever scrapes, and walk over every open socket at each scrape. What is left costs nothing until the first scrape.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Counter, Gauge, type Registry } from 'prom-client';

const LAG_RESOLUTION_MS = 20;
const NS_PER_S = 1e9;
const US_PER_S = 1e6;

/** Returns a function that reads the values. */
export function addProcessMetrics(registry: Registry): () => void {
  const registers = [registry];
  const gauge = (name: string, help: string): Gauge => new Gauge({ name, help, registers });
  const cpu = new Counter({
    name: 'process_cpu_seconds_total',
    help: 'Processor time of the process, all threads, user and system',
    registers,
  });
  const resident = gauge('process_resident_memory_bytes', 'Memory of the process that is in RAM');
  const heap = gauge('nodejs_heap_size_used_bytes', 'Memory of JavaScript objects, of the main thread');
  const startTime = gauge(
    'process_start_time_seconds',
    'When the process started, in seconds since the epoch',
  );
  startTime.set(Date.now() / 1000 - process.uptime());
  const readLag = addLag(gauge);
  return () => {
    const { user, system } = process.cpuUsage();
    cpu.reset();
    cpu.inc((user + system) / US_PER_S);
    const { rss, heapUsed } = process.memoryUsage();
    resident.set(rss);
    heap.set(heapUsed);
    readLag();
  };
}

/** Each scrape reports the time since the last one; the first only begins to measure. */
function addLag(gauge: (name: string, help: string) => Gauge): () => void {
  const about = 'How late the event loop was since the last scrape';
  const mean = gauge('nodejs_eventloop_lag_mean_seconds', `${about}: on average`);
  const p50 = gauge('nodejs_eventloop_lag_p50_seconds', `${about}: median`);
  const p99 = gauge('nodejs_eventloop_lag_p99_seconds', `${about}: 99th percentile`);
  const max = gauge('nodejs_eventloop_lag_max_seconds', `${about}: at worst`);
  let delays: ReturnType<typeof monitorEventLoopDelay> | undefined;
  return () => {
    if (delays === undefined) {
      delays = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS });
      delays.enable();
    }
    if (delays.count === 0) return;
    mean.set(lagOf(delays.mean));
    p50.set(lagOf(delays.percentile(50)));
    p99.set(lagOf(delays.percentile(99)));
    max.set(lagOf(delays.max));
    delays.reset();
  };
}

/** It measures the time between two turns that should have come one resolution apart. */
function lagOf(betweenTurnsNs: number): number {
  return Math.max(0, betweenTurnsNs / NS_PER_S - LAG_RESOLUTION_MS / 1000);
}
