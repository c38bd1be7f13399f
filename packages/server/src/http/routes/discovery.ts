/** What the server is and can do: `/v1/models`, `/v1/capabilities`, `/openapi.json`. */
import { TalariaError } from '@talaria/protocol';
import type { FastifyInstance } from 'fastify';

export interface DiscoveryOptions {
  version: string;
  modelName: string;
  authRequired: boolean;
  cors: boolean;
  /** Whether the provider has embeddings. */
  embeddings: boolean;
  /** Whether clients may use the sandbox without the agent. */
  slots: boolean;
  /** Whether the files of runs are kept step by step. */
  checkpoints: boolean;
}

const ENDPOINTS = {
  health: { method: 'GET', path: '/health' },
  health_ready: { method: 'GET', path: '/health/ready' },
  health_detailed: { method: 'GET', path: '/health/detailed' },
  metrics: { method: 'GET', path: '/metrics' },
  models: { method: 'GET', path: '/v1/models' },
  model: { method: 'GET', path: '/v1/models/{model}' },
  model_options: { method: 'GET', path: '/api/model/options' },
  skills: { method: 'GET', path: '/v1/skills' },
  toolsets: { method: 'GET', path: '/v1/toolsets' },
  directories: { method: 'GET', path: '/v1/directories' },
  capabilities: { method: 'GET', path: '/v1/capabilities' },
  openapi: { method: 'GET', path: '/openapi.json' },
  chat_completions: { method: 'POST', path: '/v1/chat/completions' },
  completions: { method: 'POST', path: '/v1/completions' },
  embeddings: { method: 'POST', path: '/v1/embeddings' },
  responses: { method: 'POST', path: '/v1/responses' },
  response: { method: 'GET', path: '/v1/responses/{response_id}' },
  response_delete: { method: 'DELETE', path: '/v1/responses/{response_id}' },
  response_cancel: { method: 'POST', path: '/v1/responses/{response_id}/cancel' },
  response_input_items: { method: 'GET', path: '/v1/responses/{response_id}/input_items' },
  response_input_tokens: { method: 'POST', path: '/v1/responses/input_tokens' },
  conversation_create: { method: 'POST', path: '/v1/conversations' },
  conversation: { method: 'GET', path: '/v1/conversations/{conversation_id}' },
  conversation_update: { method: 'POST', path: '/v1/conversations/{conversation_id}' },
  conversation_delete: { method: 'DELETE', path: '/v1/conversations/{conversation_id}' },
  conversation_items: { method: 'GET', path: '/v1/conversations/{conversation_id}/items' },
  conversation_items_add: { method: 'POST', path: '/v1/conversations/{conversation_id}/items' },
  conversation_item: { method: 'GET', path: '/v1/conversations/{conversation_id}/items/{item_id}' },
  conversation_item_delete: { method: 'DELETE', path: '/v1/conversations/{conversation_id}/items/{item_id}' },
  runs: { method: 'POST', path: '/v1/runs' },
  run_list: { method: 'GET', path: '/v1/runs' },
  run_status: { method: 'GET', path: '/v1/runs/{run_id}' },
  run_update: { method: 'PATCH', path: '/v1/runs/{run_id}' },
  run_events: { method: 'GET', path: '/v1/runs/{run_id}/events' },
  run_feed: { method: 'GET', path: '/v1/feed' },
  run_approval: { method: 'POST', path: '/v1/runs/{run_id}/approval' },
  run_fork: { method: 'POST', path: '/v1/runs/{run_id}/fork' },
  run_stop: { method: 'POST', path: '/v1/runs/{run_id}/stop' },
  run_steer: { method: 'POST', path: '/v1/runs/{run_id}/steer' },
  run_tool_outputs: { method: 'POST', path: '/v1/runs/{run_id}/tool_outputs' },
  approvals: { method: 'GET', path: '/v1/approvals' },
  grants: { method: 'GET', path: '/v1/grants' },
  grant_delete: { method: 'DELETE', path: '/v1/grants/{grant_id}' },
  run_call: { method: 'GET', path: '/v1/runs/{run_id}/calls/{tool_call_id}' },
  run_artifacts: { method: 'GET', path: '/v1/runs/{run_id}/artifacts' },
  run_artifact_content: { method: 'GET', path: '/v1/runs/{run_id}/artifacts/content' },
  run_artifact_archive: { method: 'GET', path: '/v1/runs/{run_id}/artifacts/archive' },
  run_diff: { method: 'GET', path: '/v1/runs/{run_id}/diff' },
  files: { method: 'GET', path: '/v1/files' },
  file_create: { method: 'POST', path: '/v1/files' },
  file: { method: 'GET', path: '/v1/files/{file_id}' },
  file_content: { method: 'GET', path: '/v1/files/{file_id}/content' },
  file_delete: { method: 'DELETE', path: '/v1/files/{file_id}' },
  slots: { method: 'GET', path: '/v1/slots' },
  slot_acquire: { method: 'POST', path: '/v1/slots' },
  slot_execute: { method: 'POST', path: '/v1/slots/execute' },
  slot_release: { method: 'POST', path: '/v1/slots/{slot_id}/release' },
  slot_artifacts: { method: 'GET', path: '/v1/slots/{slot_id}/artifacts' },
  slot_artifact_content: { method: 'GET', path: '/v1/slots/{slot_id}/artifacts/content' },
  slot_artifact_archive: { method: 'GET', path: '/v1/slots/{slot_id}/artifacts/archive' },
  sessions: { method: 'GET', path: '/api/sessions' },
  session_create: { method: 'POST', path: '/api/sessions' },
  session: { method: 'GET', path: '/api/sessions/{session_id}' },
  session_update: { method: 'PATCH', path: '/api/sessions/{session_id}' },
  session_delete: { method: 'DELETE', path: '/api/sessions/{session_id}' },
  session_messages: { method: 'GET', path: '/api/sessions/{session_id}/messages' },
  session_fork: { method: 'POST', path: '/api/sessions/{session_id}/fork' },
  session_chat: { method: 'POST', path: '/api/sessions/{session_id}/chat' },
  session_chat_stream: { method: 'POST', path: '/api/sessions/{session_id}/chat/stream' },
  jobs: { method: 'GET', path: '/api/jobs' },
  job_create: { method: 'POST', path: '/api/jobs' },
  job: { method: 'GET', path: '/api/jobs/{job_id}' },
  job_update: { method: 'PATCH', path: '/api/jobs/{job_id}' },
  job_delete: { method: 'DELETE', path: '/api/jobs/{job_id}' },
  job_pause: { method: 'POST', path: '/api/jobs/{job_id}/pause' },
  job_resume: { method: 'POST', path: '/api/jobs/{job_id}/resume' },
  job_run: { method: 'POST', path: '/api/jobs/{job_id}/run' },
};

export function installDiscoveryRoutes(app: FastifyInstance, options: DiscoveryOptions): void {
  const { version, modelName, authRequired, cors, embeddings, slots, checkpoints } = options;
  const created = Math.floor(Date.now() / 1000);

  app.get('/openapi.json', async () =>
    (await import('../openapi/openapi-document.ts')).openApiDocument(version),
  );

  const model = {
    id: modelName,
    object: 'model',
    created,
    owned_by: 'hermes',
    permission: [],
    root: modelName,
    parent: null,
  };

  app.get('/v1/models', async () => ({ object: 'list', data: [model] }));

  app.get<{ Params: { model: string } }>('/v1/models/:model', async (request) => {
    const { model: name } = request.params;
    if (name === modelName) return model;
    throw new TalariaError('model_not_found', { message: `No such model: ${name}`, param: 'model' });
  });

  app.get('/v1/capabilities', async () => ({
    object: 'hermes.api_server.capabilities',
    platform: 'hermes-agent',
    model: modelName,
    auth: { type: 'bearer', required: authRequired },
    runtime: {
      mode: 'server_agent',
      tool_execution: 'server',
      split_runtime: false,
      description: 'The agent and its tools run on the server, each run in a sandbox of its own',
    },
    features: {
      chat_completions: true,
      chat_completions_streaming: true,
      completions: true,
      embeddings,
      responses_api: true,
      responses_streaming: true,
      responses_background: true,
      responses_resume: true,
      conversations: true,
      run_submission: true,
      run_status: true,
      run_list: true,
      run_events_sse: true,
      run_events_resume: true,
      run_stop: true,
      run_steer: true,
      run_fork: true,
      client_tools: true,
      structured_output: true,
      run_approval_response: true,
      run_idempotency: true,
      run_calls: true,
      run_artifacts: true,
      run_artifacts_at: checkpoints,
      run_diff: checkpoints,
      files: true,
      directories: true,
      slots,
      sessions: true,
      session_resources: true,
      model_options: true,
      skills_api: true,
      reasoning_streaming: true,
      session_chat: true,
      session_chat_streaming: true,
      session_fork: true,
      session_model_lock: false,
      admin_config_rw: false,
      memory_write_api: false,
      audio_api: false,
      realtime_voice: false,
      run_webhooks: true,
      tool_progress_events: true,
      approval_events: true,
      jobs: true,
      session_continuity_header: true,
      session_key_header: true,
      cors,
    },
    endpoints: ENDPOINTS,
  }));
}
