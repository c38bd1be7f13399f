/**
 * Positions in a listing, as clients hold them. A position is the ordinal of a run, which would reveal how many runs
 * the server has had. So it is sealed with a key of the store, and opens only for the owner and the listing it was made
 * for.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { TalariaError } from '@talaria/protocol';

const CIPHER = 'aes-256-gcm';
const [NONCE_BYTES, PLACE_BYTES, TAG_BYTES] = [12, 8, 16];
/** In base64url these bytes take whole characters, so a cursor has one form only. */
const FORM = /^[\w-]{48}$/;

export const CURSOR_KEY_BYTES = 32;

export class Cursors {
  readonly #key: Uint8Array;
  readonly #listing: string;
  readonly #expected: string;

  /** `listing` is '' for runs, whose cursors are older than other listings. `expected` is the message for an invalid cursor. */
  constructor(
    key: Uint8Array,
    listing = '',
    expected = "'after' must be the next_cursor of an earlier page, under the same key",
  ) {
    this.#key = key;
    this.#listing = listing;
    this.#expected = expected;
  }

  seal(owner: string, ordinal: number): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(this.#audience(owner));
    const place = Buffer.alloc(PLACE_BYTES);
    place.writeBigUInt64BE(BigInt(ordinal));
    const sealed = Buffer.concat([cipher.update(place), cipher.final()]);
    return Buffer.concat([nonce, sealed, cipher.getAuthTag()]).toString('base64url');
  }

  /** Returns the ordinal; throws `invalid_cursor` for anything that `seal` did not make for this owner. */
  open(owner: string, cursor: string): number {
    if (!FORM.test(cursor)) throw this.#invalid();
    const bytes = Buffer.from(cursor, 'base64url');
    const sealedEnd = NONCE_BYTES + PLACE_BYTES;
    const cipher = createDecipheriv(CIPHER, this.#key, bytes.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    });
    cipher.setAAD(this.#audience(owner));
    cipher.setAuthTag(bytes.subarray(sealedEnd));
    try {
      const place = Buffer.concat([cipher.update(bytes.subarray(NONCE_BYTES, sealedEnd)), cipher.final()]);
      return Number(place.readBigUInt64BE());
    } catch {
      throw this.#invalid();
    }
  }

  #audience(owner: string): Buffer {
    return Buffer.from(this.#listing === '' ? owner : `${this.#listing}\0${owner}`);
  }

  #invalid(): TalariaError {
    return new TalariaError('invalid_cursor', { message: this.#expected, param: 'after' });
  }
}
