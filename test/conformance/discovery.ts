/** What the server reports about itself: health, models, capabilities, the OpenAPI document. */
import type { ModelOptions, ToolsetList } from '@talaria/protocol';
import { describe, expect, it } from 'vitest';
import { expectError } from './checked-api.ts';
import { apiOf, type GetTarget, say } from './target.ts';

type Json = Record<string, unknown>;

export const ROUTES: [string, string][] = [
  ['GET', '/health'],
  ['GET', '/v1/health'],
  ['GET', '/health/detailed'],
  ['GET', '/v1/models'],
  ['GET', '/v1/models/{model}'],
  ['GET', '/v1/capabilities'],
  ['GET', '/v1/skills'],
  ['GET', '/v1/toolsets'],
  ['GET', '/api/model/options'],
  ['POST', '/v1/chat/completions'],
  ['POST', '/v1/completions'],
  ['POST', '/v1/embeddings'],
  ['POST', '/v1/runs'],
  ['GET', '/v1/runs'],
  ['GET', '/v1/runs/{run_id}'],
  ['PATCH', '/v1/runs/{run_id}'],
  ['GET', '/v1/runs/{run_id}/events'],
  ['POST', '/v1/runs/{run_id}/fork'],
  ['POST', '/v1/runs/{run_id}/stop'],
  ['POST', '/v1/runs/{run_id}/approval'],
  ['POST', '/v1/runs/{run_id}/steer'],
  ['GET', '/v1/runs/{run_id}/artifacts'],
  ['GET', '/v1/runs/{run_id}/artifacts/content'],
  ['PUT', '/v1/runs/{run_id}/artifacts/content'],
  ['DELETE', '/v1/runs/{run_id}/artifacts/content'],
  ['GET', '/v1/runs/{run_id}/artifacts/archive'],
  ['POST', '/v1/responses'],
  ['GET', '/v1/responses/{response_id}'],
  ['DELETE', '/v1/responses/{response_id}'],
  ['POST', '/v1/responses/{response_id}/cancel'],
  ['POST', '/v1/responses/input_tokens'],
  ['GET', '/api/sessions'],
  ['POST', '/api/sessions'],
  ['GET', '/api/sessions/{session_id}'],
  ['PATCH', '/api/sessions/{session_id}'],
  ['DELETE', '/api/sessions/{session_id}'],
  ['GET', '/api/sessions/{session_id}/messages'],
  ['POST', '/api/sessions/{session_id}/fork'],
  ['POST', '/api/sessions/{session_id}/chat'],
  ['POST', '/api/sessions/{session_id}/chat/stream'],
  ['GET', '/api/jobs'],
  ['POST', '/api/jobs'],
  ['GET', '/api/jobs/{job_id}'],
  ['PATCH', '/api/jobs/{job_id}'],
  ['DELETE', '/api/jobs/{job_id}'],
  ['POST', '/api/jobs/{job_id}/pause'],
  ['POST', '/api/jobs/{job_id}/resume'],
  ['POST', '/api/jobs/{job_id}/run'],
];

export function describeDiscovery(target: GetTarget): void {
  const api = () => apiOf(target());
  /** With a cursor that nothing has: a feed would never end. */
  const ask = (method: string, path: string) =>
    api().request<Json>(method, path.replace(/\{\w+\}/g, 'none'), { headers: { 'last-event-id': 'none' } });

  describe('the server tells', () => {
    it.each(['/health', '/v1/health'])('anyone that it is up, at %s', async (path) => {
      const { key: _, ...keyless } = target();
      const { status, body } = await apiOf(keyless).get<Json>(path);
      expect(status).toBe(200);
      expect(body).toMatchObject({ status: 'ok', platform: 'hermes-agent' });
      expect(body.version).toMatch(/^\d+\.\d+\.\d+/);
    });

    it('its state in detail', async () => {
      const { status, body } = await api().get<Json>('/health/detailed');
      expect(status).toBe(200);
      expect(body).toMatchObject({
        status: 'ok',
        platform: 'hermes-agent',
        gateway_state: 'running',
        platforms: { api_server: { state: expect.any(String) } },
        readiness: { status: 'ready', checks: expect.any(Object) },
        active_agents: expect.any(Number),
        pid: expect.any(Number),
        uptime_seconds: expect.any(Number),
        queue: {
          queued: expect.any(Number),
          leased: expect.any(Number),
          max_queued: expect.any(Number),
          max_concurrent: expect.any(Number),
        },
      });
      expect(body).toHaveProperty('platforms.api_server.subscribers', expect.any(Number));
      expect(body).toHaveProperty('readiness.checks.store', {
        status: 'ok',
        detail: expect.any(String),
        last_error: null,
      });
      expect(body.version).toBe((await api().get<Json>('/health')).body.version);
      expect(Math.abs(Date.parse(body.updated_at as string) - Date.now())).toBeLessThan(60_000);
    });

    it('its one model, under the name its runs carry', async () => {
      const { body } = await api().get<{ object: string; data: Json[] }>('/v1/models');
      expect(body.object).toBe('list');
      expect(body.data).toHaveLength(1);
      const model = body.data[0]!;
      expect(Object.keys(model).sort()).toEqual(
        ['created', 'id', 'object', 'owned_by', 'parent', 'permission', 'root'].sort(),
      );
      expect(model).toMatchObject({
        object: 'model',
        created: expect.any(Number),
        owned_by: 'hermes',
        permission: [],
        root: model.id,
        parent: null,
      });
      const runId = await api().create(say('model'));
      expect((await api().run(runId)).model).toBe(model.id);
      expect((await api().get(`/v1/models/${model.id}`)).body).toEqual(model);
      expectError(await api().get('/v1/models/gpt-none'), { status: 404, code: 'model_not_found' });
    });

    it('what its agent has: skills, tools in sets, and the models to choose from', async () => {
      expect((await api().get('/v1/skills')).body).toEqual({ object: 'list', data: [] });
      const { body: toolsets } = await api().get<ToolsetList>('/v1/toolsets');
      expect(toolsets).toMatchObject({ object: 'list', platform: 'api_server' });
      const terminal = toolsets.data.find(({ name }) => name === 'terminal');
      expect(terminal).toMatchObject({ enabled: true, configured: true });
      expect(terminal!.tools).toContain('terminal');
      const { body: models } = await api().get<{ data: Json[] }>('/v1/models');
      const { body: options } = await api().get<ModelOptions>('/api/model/options?refresh=1');
      expect(options.model).toBe(models.data[0]!.id);
      const current = options.providers.find(({ is_current }) => is_current);
      expect(current).toMatchObject({ slug: options.provider, models: [options.model] });
    });

    it('its capabilities, and whether a key is needed', async () => {
      const { body } = await api().get<Json>('/v1/capabilities');
      const { body: models } = await api().get<{ data: Json[] }>('/v1/models');
      expect(body).toMatchObject({
        object: 'hermes.api_server.capabilities',
        platform: 'hermes-agent',
        model: models.data[0]!.id,
        auth: { type: 'bearer', required: target().key !== undefined },
        runtime: {
          mode: 'server_agent',
          tool_execution: 'server',
          split_runtime: false,
          description: expect.any(String),
        },
        features: {
          chat_completions: true,
          chat_completions_streaming: true,
          responses_api: true,
          responses_streaming: true,
          responses_background: true,
          responses_resume: true,
          run_submission: true,
          run_status: true,
          run_events_sse: true,
          run_stop: true,
          run_approval_response: true,
          tool_progress_events: true,
          approval_events: true,
          session_continuity_header: true,
          session_key_header: true,
          cors: expect.any(Boolean),
        },
        endpoints: {
          health: { method: 'GET', path: '/health' },
          health_detailed: { method: 'GET', path: '/health/detailed' },
          models: { method: 'GET', path: '/v1/models' },
          chat_completions: { method: 'POST', path: '/v1/chat/completions' },
          responses: { method: 'POST', path: '/v1/responses' },
          runs: { method: 'POST', path: '/v1/runs' },
          run_status: { method: 'GET', path: '/v1/runs/{run_id}' },
          run_events: { method: 'GET', path: '/v1/runs/{run_id}/events' },
          run_approval: { method: 'POST', path: '/v1/runs/{run_id}/approval' },
          run_stop: { method: 'POST', path: '/v1/runs/{run_id}/stop' },
        },
      });
    });

    it('only endpoints that exist', async () => {
      const { body } = await api().get<{ endpoints: Record<string, { method: string; path: string }> }>(
        '/v1/capabilities',
      );
      for (const { method, path } of Object.values(body.endpoints)) {
        const answer = await ask(method, path);
        expect(answer.status, `${method} ${path}`).not.toBe(405);
        expect((answer.body.error as Json | undefined)?.code, `${method} ${path}`).not.toBe('not_found');
      }
    });
  });

  describe('the OpenAPI document', () => {
    const document = async () => (await api().get<Json>('/openapi.json')).body;

    it('is OpenAPI 3.1 with a title and a version', async () => {
      expect(await document()).toMatchObject({
        openapi: expect.stringMatching(/^3\.1\.\d+$/),
        info: { title: expect.any(String), version: expect.any(String) },
        components: {
          securitySchemes: {
            bearer: { type: 'http', scheme: 'bearer' },
            api_key: { type: 'apiKey', in: 'header', name: 'api-key' },
          },
        },
        security: [{ bearer: [] }, { api_key: [] }],
      });
    });

    it('describes every route, and no route that does not exist', async () => {
      const { paths } = (await document()) as { paths: Record<string, Record<string, Json>> };
      const described = Object.entries(paths).flatMap(([path, item]) =>
        Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
      );
      expect(described).toEqual(expect.arrayContaining(ROUTES.map(([method, path]) => `${method} ${path}`)));
      for (const entry of described) {
        const [method, path] = entry.split(' ') as [string, string];
        const answer = await ask(method, path);
        expect((answer.body as Json).error, entry).not.toMatchObject({ code: 'not_found' });
        expect(answer.status, entry).not.toBe(405);
      }
    });

    it('has for every operation a summary, its path parameters, and answers with descriptions', async () => {
      const { paths } = (await document()) as { paths: Record<string, Record<string, Json>> };
      for (const [path, item] of Object.entries(paths)) {
        for (const [method, operation] of Object.entries(item)) {
          const name = `${method} ${path}`;
          expect(operation.summary, name).toEqual(expect.any(String));
          const parameters = (operation.parameters ?? []) as Json[];
          const inPath = parameters.filter((parameter) => parameter.in === 'path');
          const named = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
          expect(
            inPath.map((parameter) => parameter.name),
            name,
          ).toEqual(named);
          for (const parameter of parameters) {
            expect(['path', 'query', 'header'], name).toContain(parameter.in);
            expect(parameter.schema, name).toEqual(expect.any(Object));
            if (parameter.in === 'path') expect(parameter.required, name).toBe(true);
          }
          const responses = operation.responses as Record<string, Json>;
          expect(
            Object.keys(responses).some((status) => status.startsWith('2')),
            name,
          ).toBe(true);
          for (const [status, response] of Object.entries(responses)) {
            expect(status, name).toMatch(/^[1-5]\d\d$/);
            expect(response.description, `${name} ${status}`).toEqual(expect.any(String));
          }
          if (method === 'post' && !/\/(stop|resume|run|cancel)$/.test(path)) {
            const type = path === '/v1/files' ? 'multipart/form-data' : 'application/json';
            expect(operation.requestBody, name).toHaveProperty(['content', type, 'schema']);
          }
        }
      }
    });

    it('contains everything it refers to', async () => {
      const whole = await document();
      const refs = [...JSON.stringify(whole).matchAll(/"\$ref":"([^"]+)"/g)].map((match) => match[1]!);
      for (const ref of refs) {
        const found = ref
          .replace(/^#\//, '')
          .split('/')
          .reduce<unknown>((value, name) => (value as Json | undefined)?.[name], whole);
        expect(found, ref).toBeDefined();
      }
    });
  });
}
