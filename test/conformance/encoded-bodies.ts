/** Bodies with a Content-Encoding: decoded, with the same limit, or refused (PROTOCOL.md). */
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import type { RunCreated } from '@talaria/protocol';
import { describe, expect, it } from 'vitest';
import { expectError } from './checked-api.ts';
import { apiOf, type GetTarget, MISSING_RUN, say } from './target.ts';

const LIMIT_BYTES = 10_000_000;

/** The best compression, which is the default, takes half a second for the largest body. */
const QUICKLY = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };

const PACKED: [string, (text: string) => Buffer][] = [
  ['gzip', gzipSync],
  ['br', (text) => brotliCompressSync(text, QUICKLY)],
  ['deflate', deflateSync],
  ['deflate', deflateRawSync],
];

export function describeEncodedBodies(target: GetTarget): void {
  const api = () => apiOf(target());
  const post = <T>(bytes: Buffer, encoding: string, path = '/v1/runs') =>
    api().request<T>('POST', path, {
      raw: new Uint8Array(bytes),
      headers: { 'content-encoding': encoding },
    });

  describe('a body with a Content-Encoding', () => {
    it.each(PACKED)('of %s is decoded', async (encoding, pack) => {
      const body = JSON.stringify({ input: say('unpacked'), padding: 'x'.repeat(100_000) });
      const { status, body: created } = await post<RunCreated>(pack(body), encoding);
      expect(status).toBe(202);
      expect(await api().finish(created.run_id)).toMatchObject({ output: 'unpacked' });
    });

    it.each(PACKED)('of %s has the limit of any body after decoding', async (encoding, pack) => {
      const bomb = pack(`{"input":"${'x'.repeat(LIMIT_BYTES)}"}`);
      expect(bomb.length).toBeLessThan(100_000);
      expectError(await post(bomb, encoding), { status: 413, code: 'body_too_large' });
    });

    it.each(PACKED)('of %s that is damaged is 400', async (encoding, pack) => {
      const packed = pack(JSON.stringify({ input: say('never') }));
      for (const bytes of [Buffer.from('{"input":"plain"}'), packed.subarray(0, packed.length - 5)]) {
        expectError(await post(bytes, encoding), { status: 400, code: 'invalid_encoding' });
      }
    });

    it.each(['compress', 'gzip, br', 'nonsense'])('that is unknown (%s) is 415', async (encoding) => {
      expectError(await post(gzipSync('{}'), encoding), { status: 415, code: 'unsupported_encoding' });
    });

    it('is checked only after the run is known to exist', async () => {
      const answer = await post(Buffer.from('damaged'), 'gzip', `/v1/runs/${MISSING_RUN}/steer`);
      expectError(answer, { status: 404, code: 'run_not_found' });
    });
  });
}
