/**
 * Splits what a terminal sends into keys. A terminal sends bytes, not keys: a program that was busy reads several keys at
 * once, and a key such as an arrow, or one with Alt, is a sequence that begins with Escape.
 *
 * Pasted text is no key. A terminal marks it if it is asked to; only the keys that are always obeyed count inside.
 */
import { StringDecoder } from 'node:string_decoder';

const PASTE_BEGINS = '\x1b[200~';
const PASTE_ENDS = '\x1b[201~';

/** A sequence, Escape with another key, or one character. */
const KEY = /\x1b\[[0-?]*[ -/]*[@-~]|\x1bO[@-~]|\x1b(?!\x1b).|./gsu;
/** The beginning of a sequence whose end comes with the next bytes. */
const CUT_OFF = /\x1b\[[0-?]*[ -/]*$/;

export class KeyParser {
  readonly #alwaysObeyed: (key: string) => boolean;
  readonly #decoder = new StringDecoder('utf8');
  #cutOff = '';
  #pasting = false;

  constructor(alwaysObeyed: (key: string) => boolean) {
    this.#alwaysObeyed = alwaysObeyed;
  }

  parse(bytes: Buffer): string[] {
    const text = this.#cutOff + this.#decoder.write(bytes);
    this.#cutOff = CUT_OFF.exec(text)?.[0] ?? '';
    const whole = text.slice(0, text.length - this.#cutOff.length);
    return (whole.match(KEY) ?? []).filter((key) => this.#counts(key));
  }

  #counts(key: string): boolean {
    const isMark = key === PASTE_BEGINS || key === PASTE_ENDS;
    if (isMark) this.#pasting = key === PASTE_BEGINS;
    return !isMark && (!this.#pasting || this.#alwaysObeyed(key));
  }
}
