/**
 * Asks a person for the answer to an approval, with one key. The question itself is above as lines; this is the line
 * with the answers, which disappears when it was answered here or elsewhere.
 *
 * Keys in the first moment are discarded: they were meant for something else, and a slip here could be harmful. The
 * mark at the end of the line shows that keys count.
 */
import type { ApprovalChoice } from '@talaria/client';
import { MEANINGS, type Question, remaining } from '../runs/approval-question.ts';
import type { Style } from '../style.ts';
import type { Keyboard } from './keyboard.ts';
import type { Screen } from './screen.ts';

const GUARD_MS = 300;

const CHOICES = Object.keys(MEANINGS) as ApprovalChoice[];

export class ApprovalPrompt {
  readonly #screen: Screen;
  readonly #keyboard: Keyboard;
  readonly #style: Style;
  #asking: { question: Question; choices: readonly ApprovalChoice[]; ready: boolean } | undefined;

  constructor(screen: Screen, keyboard: Keyboard, style: Style) {
    this.#screen = screen;
    this.#keyboard = keyboard;
    this.#style = style;
  }

  /** The rows for the footer of the screen. */
  rows(): string[] {
    if (this.#asking === undefined) return [];
    const { question, choices, ready } = this.#asking;
    const { strong, faint, careful } = this.#style;
    const shown = choices.map((choice) => `${strong(`[${choice[0]}]`)}${choice.slice(1)}`).join('  ');
    const time = remaining(question);
    return [
      ...(time === undefined ? [] : [faint(`  ${time}`)]),
      `  ${shown} ${ready ? careful('›') : faint('…')} `,
    ];
  }

  /** Undefined when the signal aborts first, because the question is settled. */
  async ask(question: Question, signal: AbortSignal): Promise<ApprovalChoice | undefined> {
    const choices = CHOICES.filter((choice) => question.choices?.includes(choice) ?? true);
    const asking = { question, choices, ready: false };
    this.#asking = asking;
    const { promise, resolve } = Promise.withResolvers<ApprovalChoice | undefined>();
    const settle = (): void => resolve(undefined);
    const begin = (): void => {
      asking.ready = true;
      if (this.#asking !== asking) return;
      if (this.#screen.live) this.#screen.refresh();
      else this.#screen.line(this.rows().at(-1)!);
    };
    // After the keys that wait to be read: in a busy process, those are from before the mark.
    const guard = setTimeout(() => setImmediate(begin), GUARD_MS);
    signal.addEventListener('abort', settle);
    if (signal.aborted) settle();
    using _listening = this.#keyboard.listen((key) => {
      const choice = choices.find((candidate) => candidate[0] === key.toLowerCase());
      if (asking.ready && choice !== undefined) resolve(choice);
    });
    this.#screen.refresh();
    try {
      return await promise;
    } finally {
      clearTimeout(guard);
      signal.removeEventListener('abort', settle);
      if (this.#asking === asking) this.#asking = undefined;
      this.#screen.refresh();
    }
  }
}
