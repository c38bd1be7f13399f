/** How long a question still waits. It is read out when little is left, not every second. */
import { now } from '../clock.ts';
import { duration } from '../format.ts';

const SHORT_S = 60;

export function TimeLeft({ until }: { until: number }) {
  const left = until - now.value;
  return <span class={`time-left ${left < SHORT_S ? 'short' : ''}`}>{duration(left)} left</span>;
}
