/** `GET /v1/approvals`, `GET /v1/grants`, `DELETE /v1/grants/{id}` (PROTOCOL.md). */
import type { ApprovalList, GrantDeleted, GrantList } from '@talaria/protocol';
import { describe, expect, it } from 'vitest';
import { script } from '../support/model-server.ts';
import { CheckedApi, expectError } from './checked-api.ts';
import { apiOf, GATED, type GetTarget, terminal, uniqueName, WaitingRun, waitForStatus } from './target.ts';

const MISSING_GRANT = `grt_${'0'.repeat(32)}`;

export function describeApprovalLists(target: GetTarget): void {
  const api = () => apiOf(target());
  const approvals = (query = '') => api().get<ApprovalList>(`/v1/approvals${query}`);
  const grants = async () => (await api().get<GrantList>('/v1/grants?limit=200')).body.data;
  const revoke = (id: string) => api().request<GrantDeleted>('DELETE', `/v1/grants/${id}`);

  describe('the list of approvals', () => {
    it('has what waits, with its run, and then what was decided, with who decided', async () => {
      await using waiting = await WaitingRun.start(target());
      const { runId, approval } = waiting;
      const ofRun = async (query: string) =>
        (await approvals(query)).body.data.filter(({ run }) => run.run_id === runId);
      const [pending] = await ofRun('?status=pending');
      expect(pending).toMatchObject({ ...approval, object: 'hermes.approval', status: 'pending' });
      expect(pending!.run).toMatchObject({ run_id: runId, status: 'waiting_for_approval' });
      expect(await ofRun('?status=answered')).toEqual([]);
      // Its worker may give it back between the two requests.
      const run = { ...pending!.run, updated_at: expect.any(Number) };
      expect(await ofRun('')).toEqual([{ ...pending, run }]);

      await api().approve(runId, 'deny', { message: 'keep it' });
      await api().finish(runId);
      expect(await ofRun('?status=pending')).toEqual([]);
      const [answered] = await ofRun('?status=answered');
      expect(answered).toMatchObject({
        ...approval,
        status: 'answered',
        choice: 'deny',
        message: 'keep it',
        answered_by: expect.any(String),
        answered_at: expect.any(Number),
      });
      expect(answered!.run).toMatchObject({ run_id: runId, status: 'completed' });
      expect(answered!.run).not.toHaveProperty('output');
      expect(await ofRun('')).toEqual([answered]);
    });

    it('comes in pages that neither repeat nor leave out any', async () => {
      await using first = await WaitingRun.start(target());
      await using second = await WaitingRun.start(target());
      await api().approve(first.runId, 'deny');
      const all = (await approvals('?limit=200')).body.data.map(({ request_id }) => request_id);
      const seen: string[] = [];
      for (let after = ''; ; ) {
        const { body } = await approvals(`?limit=1&after=${after}`);
        seen.push(...body.data.map(({ request_id }) => request_id));
        if (!body.has_more) break;
        after = body.next_cursor!;
      }
      expect(seen).toEqual(all);
      expect(seen).toEqual(expect.arrayContaining([first.approval.request_id, second.approval.request_id]));
    });

    it('refuses what it does not understand', async () => {
      const refused = { status: 400, code: 'invalid_request' };
      expectError(await approvals('?status=both'), { ...refused, param: 'status' });
      expectError(await approvals('?limit=0'), { ...refused, param: 'limit' });
      expectError(await approvals('?after=x'), { status: 400, code: 'invalid_cursor', param: 'after' });
      expectError(await approvals('?status=answered&after=x'), { status: 400, code: 'invalid_cursor' });
    });
  });

  describe('a grant', () => {
    it('is listed, says when it was used, and asks again once it is taken back', async () => {
      const session_id = uniqueName('granted');
      const ask = { session_id };
      await using waiting = await WaitingRun.start(target(), undefined, ask);
      await api().approve(waiting.runId, 'session');
      await api().finish(waiting.runId);
      const ofSession = async () => (await grants()).filter((grant) => grant.session_id === session_id);
      const [grant] = await ofSession();
      expect(grant).toMatchObject({
        object: 'hermes.grant',
        scope: 'session',
        pattern_key: waiting.approval.pattern_key,
        last_used_at: null,
      });
      // The grant lets this through.
      const gated = script([{ tools: [terminal(GATED)] }, { text: 'done' }]);
      await api().finish(await api().create(gated, ask));
      expect((await ofSession())[0]!.last_used_at).toBeGreaterThanOrEqual(grant!.created_at);

      expect(await revoke(grant!.id)).toMatchObject({
        status: 200,
        body: { object: 'hermes.grant', id: grant!.id, deleted: true },
      });
      expect(await ofSession()).toEqual([]);
      expectError(await revoke(grant!.id), { status: 404, code: 'grant_not_found' });
      const again = await api().create(gated, ask);
      await waitForStatus(api(), again, 'waiting_for_approval');
      await api().approve(again, 'deny');
      await api().finish(again);
    });

    it('that does not exist is 404, whatever its name', async () => {
      for (const id of [MISSING_GRANT, 'x', '%C3%BC']) {
        expectError(await revoke(id), { status: 404, code: 'grant_not_found' });
      }
    });
  });
}

/** Of another key. */
export function describeApprovalOwnership(target: GetTarget): void {
  const other = () => new CheckedApi(target().baseUrl, target().otherKey);

  it("another key's questions, decisions and grants look like ones that do not exist", async () => {
    await using waiting = await WaitingRun.start(target(), undefined, { session_id: uniqueName('owned') });
    await using asking = await WaitingRun.start(target());
    await apiOf(target()).approve(waiting.runId, 'session');
    const mine = (await apiOf(target()).get<GrantList>('/v1/grants')).body.data[0]!;
    const { data } = (await other().get<ApprovalList>('/v1/approvals?limit=200')).body;
    const runs = data.map(({ run }) => run.run_id);
    expect(runs).not.toContain(waiting.runId);
    expect(runs).not.toContain(asking.runId);
    const theirs = (await other().get<GrantList>('/v1/grants?limit=200')).body.data;
    expect(theirs.map(({ id }) => id)).not.toContain(mine.id);
    expectError(await other().request('DELETE', `/v1/grants/${mine.id}`), {
      status: 404,
      code: 'grant_not_found',
    });
    const still = (await apiOf(target()).get<GrantList>('/v1/grants')).body.data;
    expect(still.map(({ id }) => id)).toContain(mine.id);
  });
}
