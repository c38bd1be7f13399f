/** The progress of a download or a move, as a row for the footer of a screen. */
import type { Style } from '../style.ts';
import { bytes } from '../text/bytes.ts';
import { elapsed } from '../text/time.ts';
import { fit } from '../text/width.ts';

const BAR_COLUMNS = 24;

/** Before that, a speed says nothing. */
const SPEED_AFTER_MS = 500;

export class ProgressBar {
  readonly #name: string;
  readonly #total: number | undefined;
  readonly #doneBefore: number;
  readonly #startedMs: number;
  readonly #shown: (count: number) => string;
  #done: number;

  /**
   * `total` is unknown for data that is generated while it is sent; `done` is more than 0 when it continues something.
   * It counts bytes, unless `shown` formats something else.
   */
  constructor(
    name: string,
    total: number | undefined,
    done: number,
    shown: (count: number) => string = bytes,
  ) {
    this.#name = name;
    this.#total = total;
    this.#done = done;
    this.#doneBefore = done;
    this.#startedMs = Date.now();
    this.#shown = shown;
  }

  add(count: number): void {
    this.#done += count;
  }

  /** In whole percent; undefined if the total is unknown. */
  get percent(): number | undefined {
    if (this.#total === undefined) return undefined;
    return this.#total === 0 ? 100 : Math.floor((this.#done / this.#total) * 100);
  }

  row(columns: number, { busy, faint }: Style, nowMs: number = Date.now()): string {
    const ms = nowMs - this.#startedMs;
    const speed = ms < SPEED_AFTER_MS ? undefined : ((this.#done - this.#doneBefore) / ms) * 1000;
    const facts = [
      this.#total === undefined
        ? this.#shown(this.#done)
        : `${this.#shown(this.#done)} of ${this.#shown(this.#total)}`,
      speed === undefined ? undefined : `${this.#shown(Math.round(speed))}/s`,
      this.#total === undefined || !speed ? undefined : `${elapsed((this.#total - this.#done) / speed)} left`,
    ].filter((fact) => fact !== undefined);
    const { percent } = this;
    const bar = percent === undefined ? '' : `${busy(this.#bar(percent))} ${String(percent).padStart(3)}%  `;
    const room = columns - (percent === undefined ? 0 : BAR_COLUMNS + 7) - 1;
    return bar + faint(fit(`${facts.join('  ')}  ${this.#name}`, room));
  }

  #bar(percent: number): string {
    const full = Math.round((percent / 100) * BAR_COLUMNS);
    return '█'.repeat(full) + '░'.repeat(BAR_COLUMNS - full);
  }
}
