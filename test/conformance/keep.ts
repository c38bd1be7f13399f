/** `PATCH /v1/runs/{id}`, and until when a run is there (PROTOCOL.md, "Eviction"). */
import { isTerminalStatus, type Run } from '@talaria/protocol';
import { describe, expect, it } from 'vitest';
import { script } from '../support/model-server.ts';
import { expectError } from './checked-api.ts';
import { apiOf, type GetTarget, HeldRun, MISSING_RUN } from './target.ts';

export function describeKeep(target: GetTarget): void {
  const api = () => apiOf(target());
  const patch = (runId: string, body: unknown) => api().request<Run>('PATCH', `/v1/runs/${runId}`, { body });

  describe('keeping a run', () => {
    it('leaves its expiry out, everywhere, and taking that back gives it back', async () => {
      const runId = await api().create(script([{ text: 'done' }]));
      await api().finish(runId);
      const before = await api().run(runId);
      expect(before.expires_at).toBeGreaterThan(before.updated_at);
      expect(before).not.toHaveProperty('keep');

      const { expires_at, ...rest } = before;
      expect(await patch(runId, { keep: true })).toMatchObject({
        status: 200,
        body: { ...rest, keep: true },
      });
      const kept = await api().run(runId);
      expect(kept).toEqual({ ...rest, keep: true });
      const [listed] = (await api().list(`?session_id=${before.session_id}`)).data;
      expect(listed).toEqual(kept);

      // Whoever repeats it has changed nothing.
      for (const keep of [true, false, false]) {
        const { body } = await patch(runId, { keep, unknown: 5 });
        if (keep) expect(body).toEqual(kept);
        else expect(body.expires_at).toBeGreaterThanOrEqual(expires_at!);
      }
      expect(await api().run(runId)).not.toHaveProperty('keep');
    });

    it('is possible before its end', async () => {
      await using held = await HeldRun.start(target());
      const { status, body } = await patch(held.runId, { keep: true });
      expect(status).toBe(200);
      expect(isTerminalStatus(body.status)).toBe(false);
      expect(body).toMatchObject({ keep: true });
      expect(body).not.toHaveProperty('expires_at');
    });

    it.each<[string, unknown]>([
      ['without a field', {}],
      ['with null', { keep: null }],
      ['with a word', { keep: 'yes' }],
      ['with a number', { keep: 1 }],
      ['with another field', { keeps: true }],
    ])('%s is refused', async (_, body) => {
      const runId = await api().create(script([{ text: 'done' }]));
      expectError(await patch(runId, body), {
        status: 400,
        code: 'invalid_request',
        message: "'keep' must be true or false",
        param: 'keep',
      });
    });

    it('of an unknown run is 404, before any error in the body', async () => {
      for (const body of [{ keep: true }, {}]) {
        expectError(await patch(MISSING_RUN, body), { status: 404, code: 'run_not_found' });
      }
    });
  });
}
