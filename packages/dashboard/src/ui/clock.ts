/** The time, once a second, for ages and deadlines; it stands still while nobody looks at them. */
import { signal } from '@preact/signals';

/** Seconds since the epoch. */
export const now = signal(Date.now() / 1000, {
  watched() {
    this.value = Date.now() / 1000;
    timer = setInterval(() => {
      if (!document.hidden) now.value = Date.now() / 1000;
    }, 1000);
  },
  unwatched() {
    clearInterval(timer);
  },
});

let timer: ReturnType<typeof setInterval> | undefined;
