/** The files of a run as they were after an event, and what changed between two (PROTOCOL.md). */
import type { ArtifactList, Capabilities, RunDiff } from '@talaria/protocol';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { script } from '../support/model-server.ts';
import { expectError, expectSecurityHeaders } from './checked-api.ts';
import { apiOf, type GetTarget, MISSING_RUN, terminal } from './target.ts';

const GIVEN = { files: [{ path: 'given', content: 'one\n' }] };
const SECOND =
  'echo two > given; mv first/a moved; mkdir dir; ln -s nowhere dir/link; rm gone; chmod +x tool';
const STEPS = [
  { tools: [terminal('mkdir first; echo a > first/a; echo x > gone; echo y > tool')] },
  { tools: [terminal(SECOND)] },
  { text: 'done' },
];

export function describeDiff(target: GetTarget): void {
  const api = () => apiOf(target());

  describe('checkpoints', () => {
    let runId: string;
    let isKept: boolean;
    /** The first command has ended, and the second has not. */
    let between: number;
    let last: number;
    const diff = async (query = '') => {
      const { status, body } = await api().get<RunDiff>(`/v1/runs/${runId}/diff${query}`);
      expect(status, JSON.stringify(body)).toBe(200);
      return body;
    };
    const shown = ({ data }: RunDiff) => data.map(({ path, status }) => `${status} ${path}`);

    beforeAll(async () => {
      const { features } = (await api().get<Capabilities>('/v1/capabilities')).body;
      isKept = features.run_diff === true;
      runId = await api().create(script(STEPS), { workspace: GIVEN });
      const { frames } = await api().stream(runId);
      const events = frames.map(({ event }) => event);
      expect(events.at(-1)).toMatchObject({ event: 'run.completed' });
      between = events.filter(({ event }) => event === 'tool.started')[1]!.seq;
      last = events.at(-1)!.seq;
    });

    it('that are not kept are 409 checkpoint_gone on every route', async () => {
      for (const path of ['/diff', '/diff?format=patch', '/artifacts?at=0', '/artifacts/archive?at=0']) {
        const answer = await api().get(`/v1/runs/${runId}${path}`);
        if (isKept) expect(answer.status).toBe(200);
        else expectError(answer, { status: 409, code: 'checkpoint_gone' });
      }
    });

    it('cannot be written', async () => {
      for (const method of ['PUT', 'DELETE']) {
        const path = `/v1/runs/${runId}/artifacts/content?path=given&at=0`;
        const answer = await api().request(method, path, method === 'PUT' ? { raw: 'x' } : {});
        expectError(answer, { status: 400, code: 'invalid_request', param: 'at' });
      }
    });

    it('of a run that does not exist are 404 run_not_found', async () => {
      for (const path of ['/diff', '/diff?from=x', '/artifacts?at=0', '/artifacts/content?at=x']) {
        const answer = await api().get(`/v1/runs/${MISSING_RUN}${path}`);
        expectError(answer, { status: 404, code: 'run_not_found' });
      }
    });

    describe('of a server that keeps them', () => {
      beforeEach(({ skip }) => skip(!isKept, 'this server keeps no checkpoints'));

      it.each([
        ['-1', 'one\n'],
        ['between', 'one\n'],
        ['last', 'two\n'],
      ])('give a file as it was: %s', async (name, content) => {
        const at = name === 'between' ? between : name === 'last' ? last : -1;
        const path = `/v1/runs/${runId}/artifacts/content?path=given&at=${at}`;
        const { status, body, headers } = await api().get<string>(path);
        expect([status, body]).toEqual([200, content]);
        const asOf = Number(headers.get('x-talaria-as-of-seq'));
        expect(asOf).toBeLessThanOrEqual(at);
        expect(asOf).toBeGreaterThanOrEqual(-1);
      });

      it('list the files as they were, and say what they reflect', async () => {
        const list = async (at: number) =>
          (await api().get<ArtifactList>(`/v1/runs/${runId}/artifacts?recursive=true&at=${at}`)).body;
        const paths = async (at: number) => (await list(at)).data.map(({ path }) => path).sort();
        expect(await paths(-1)).toEqual(['given']);
        expect(await paths(between)).toEqual(['first', 'first/a', 'given', 'gone', 'tool']);
        expect(await paths(last)).toEqual(['dir', 'dir/link', 'first', 'given', 'moved', 'tool']);
        expect((await list(-1)).as_of_seq).toBe(-1);
      });

      it('differ by what the run has changed, from its start to its end', async () => {
        const found = await diff();
        expect(found).toMatchObject({ object: 'list', run_id: runId, from_seq: -1, truncated: false });
        expect(shown(found)).toEqual(['added dir/link', 'modified given', 'added moved', 'added tool']);
        expect(found.data[1]).toMatchObject({ additions: 1, deletions: 1, binary: false, mode: '100644' });
        expect(found.data[0]).toMatchObject({ mode: '120000' });
      });

      it('differ between any two events, in both directions', async () => {
        const there = await diff(`?from=${between}&to=${last}`);
        expect(shown(there)).toEqual([
          'added dir/link',
          'deleted first/a',
          'modified given',
          'deleted gone',
          'added moved',
          'modified tool',
        ]);
        const entry = (name: string) => there.data.find(({ path }) => path === name);
        expect(entry('moved')).toMatchObject({ renamed_from: 'first/a' });
        expect(entry('first/a')).toMatchObject({ renamed_to: 'moved' });
        expect(entry('tool')).toMatchObject({ old_mode: '100644', mode: '100755' });
        const back = await diff(`?from=${last}&to=${between}`);
        expect([back.from_seq, back.to_seq]).toEqual([there.to_seq, there.from_seq]);
        expect(shown(back)).toContain('added gone');
      });

      it('differ in one file or directory', async () => {
        expect(shown(await diff('?path=given'))).toEqual(['modified given']);
        expect(shown(await diff('?path=dir'))).toEqual(['added dir/link']);
        expect(shown(await diff(`?path=given&from=-1&to=${between}`))).toEqual([]);
      });

      it('differ as a patch', async () => {
        const answer = await api().get<string>(`/v1/runs/${runId}/diff?format=patch&path=given`);
        expect(answer.status).toBe(200);
        expect(answer.headers.get('content-type')).toBe('text/x-diff; charset=utf-8');
        expect(answer.headers.get('content-disposition')).toMatch(/^attachment; /);
        expect(answer.headers.get('x-talaria-from-seq')).toBe('-1');
        expectSecurityHeaders(answer.headers);
        expect(answer.body.replace(/^index .*\n/m, '')).toBe(
          'diff --git a/given b/given\n--- a/given\n+++ b/given\n@@ -1 +1 @@\n-one\n+two\n',
        );
      });

      it.each([
        ['artifacts?at=', 'at'],
        ['artifacts/content?path=given&at=', 'at'],
        ['artifacts/archive?at=', 'at'],
        ['diff?from=', 'from'],
        ['diff?to=', 'to'],
      ])('are refused at what is no event: %s', async (path, param) => {
        for (const value of [last + 1, 'x', '-2', '1.5', '99999999999999999999']) {
          const answer = await api().get(`/v1/runs/${runId}/${path}${value}`);
          expectError(answer, { status: 400, code: 'invalid_cursor', param });
        }
      });

      it('are refused at paths that are none', async () => {
        for (const [query, status, code] of [
          ['path=../x', 400, 'invalid_path'],
          ['path=/etc/passwd', 400, 'invalid_path'],
          ['path=nowhere', 404, 'artifact_not_found'],
        ] as const) {
          for (const more of ['', '&format=patch']) {
            const answer = await api().get(`/v1/runs/${runId}/diff?${query}${more}`);
            expectError(answer, { status, code, param: 'path' });
          }
        }
        const answer = await api().get(`/v1/runs/${runId}/diff?format=html`);
        expectError(answer, { status: 400, code: 'invalid_request', param: 'format' });
      });
    });
  });
}
