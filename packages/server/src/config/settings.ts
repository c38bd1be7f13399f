/**
 * The one table of settings. Types, flags, environment, file, help and docs/configuration.md all come from it,
 * so a setting is added here and nowhere else.
 *
 * - The name on the left is the property of `Config`. `env` is what users rely on and never changes.
 * - `key` is the place in the configuration file (dots are nesting); the flag is the key with dashes.
 * - No default means that the setting may be absent, unless `config.ts` works it out from others.
 */

import { MODEL_SETTING_NAMES } from '@talaria/protocol';
import { BACKEND_NAMES, PLANNED_BACKENDS, whereToolsRun } from './backends.ts';
import { commandRuleList } from './command-rule-list.ts';
import { headerList } from './header-list.ts';
import {
  boolean,
  choice,
  choices,
  directory,
  integer,
  type Kind,
  LONGEST_TIMER_SECONDS,
  number,
  seconds,
  secret,
  string,
  timeZone,
} from './kinds.ts';
import { type McpServerConfig, mcpServers } from './mcp-servers.ts';
import { apiKeys, type CorsOrigins, corsOrigins, databaseUrl, host, httpUrl } from './network-kinds.ts';
import { sandboxUsers } from './sandbox-users.ts';
import { webhookSecret, webhookUrl } from './webhook-kinds.ts';

export interface Setting<T, D extends T | undefined = T | undefined> {
  readonly env: string;
  readonly key: string;
  readonly kind: Kind<T>;
  readonly default: D;
  /** The default in words, where it is not one value. */
  readonly defaultText?: string;
  readonly group: Group;
  /** One line, no full stop. */
  readonly about: string;
}

export const groups = [
  'Server',
  'Storage',
  'Model',
  'Runs',
  'Jobs',
  'Sandbox and approvals',
  'Slots',
  'Operation',
] as const;
export type Group = (typeof groups)[number];

/** How to name the configuration file itself; not a setting, because a file cannot name itself. */
export const configFileOption = { env: 'TALARIA_CONFIG', flag: 'config', fileName: 'config.json' } as const;

/** An exabyte, so that bytes stay exact numbers. */
const MAX_MB = 1_073_741_824;

export const settings = {
  role: define({
    env: 'TALARIA_ROLE',
    key: 'role',
    kind: choice(['all', 'http', 'work']),
    default: 'all',
    group: 'Server',
    about:
      'the part of this process where several share one Postgres: `http` serves clients, `work` works on runs, jobs and webhooks, `all` does both',
  }),
  host: define({
    env: 'API_SERVER_HOST',
    key: 'host',
    kind: host(),
    default: '127.0.0.1',
    group: 'Server',
    about: 'address to listen on; any address but loopback needs a key',
  }),
  port: define({
    env: 'API_SERVER_PORT',
    key: 'port',
    kind: integer({ min: 0, max: 65_535 }),
    default: 8642,
    group: 'Server',
    about: 'port to listen on; 0 takes any free one',
  }),
  advertiseUrl: define({
    env: 'TALARIA_ADVERTISE_URL',
    key: 'advertise_url',
    kind: httpUrl(),
    default: undefined,
    defaultText: 'the address it listens on, or the first address of the machine that others can use',
    group: 'Server',
    about: 'where the other servers on the same Postgres reach this one, for the files of runs',
  }),
  apiKey: define({
    env: 'API_SERVER_KEY',
    key: 'api_key',
    kind: secret(),
    default: undefined,
    group: 'Server',
    about: 'key that clients send as a bearer token; its name is `default`',
  }),
  apiKeys: define({
    env: 'API_SERVER_KEYS',
    key: 'api_keys',
    kind: apiKeys(),
    default: undefined,
    group: 'Server',
    about: 'several named keys, `name:key,name2:key2`; each sees only its own runs',
  }),
  corsOrigins: define({
    env: 'API_SERVER_CORS_ORIGINS',
    key: 'cors_origins',
    kind: corsOrigins(),
    default: [] as CorsOrigins,
    defaultText: 'none',
    group: 'Server',
    about: 'origins whose pages may call the server from a browser, comma-separated, or `*`',
  }),
  modelName: define({
    env: 'API_SERVER_MODEL_NAME',
    key: 'model_name',
    kind: string(),
    default: 'hermes-agent',
    group: 'Server',
    about: 'model name that clients see',
  }),

  dataDir: define({
    env: 'TALARIA_DATA_DIR',
    key: 'data_dir',
    kind: directory(),
    default: '~/.talaria',
    group: 'Storage',
    about: 'directory for everything the server stores',
  }),
  database: define({
    env: 'TALARIA_DATABASE_URL',
    key: 'database_url',
    kind: databaseUrl(),
    default: undefined,
    defaultText: '`talaria.db` in the data directory',
    group: 'Storage',
    about:
      'database of runs and events: `sqlite:///absolute/path`, or `postgres://user:password@host:port/name`',
  }),
  workspaceSnapshots: define({
    env: 'TALARIA_WORKSPACE_SNAPSHOTS',
    key: 'workspace_snapshots',
    kind: choice(['off', 'database']),
    default: 'off',
    group: 'Storage',
    about:
      '`database` stores a copy of the files of unfinished runs in Postgres, for a run that continues on another machine',
  }),
  workspaceSnapshotMaxBytes: define({
    env: 'TALARIA_WORKSPACE_SNAPSHOT_MAX_BYTES',
    key: 'workspace_snapshot_max_bytes',
    kind: integer({ min: 1, max: 1_099_511_627_776 }),
    default: 67_108_864,
    group: 'Storage',
    about: 'largest workspace of which a copy is stored, in bytes of its files',
  }),
  runRetentionSeconds: define({
    env: 'TALARIA_RUN_RETENTION_SECONDS',
    key: 'run_retention_seconds',
    // Retention is enforced by a sweep, not a timer: ten years simply means "long".
    kind: seconds({ min: 0, max: 315_360_000 }),
    default: 3600,
    group: 'Storage',
    about: 'how long the server keeps a finished run, its events and its workspace',
  }),
  sessionRetentionSeconds: define({
    env: 'TALARIA_SESSION_RETENTION_SECONDS',
    key: 'session_retention_seconds',
    kind: seconds({ min: 0, max: 315_360_000 }),
    default: 2_592_000,
    group: 'Storage',
    about: 'how long the server keeps an unused session; 0 is for ever',
  }),
  maxStoredResponses: define({
    env: 'TALARIA_MAX_STORED_RESPONSES',
    key: 'max_stored_responses',
    kind: integer({ min: 1, max: 1_000_000 }),
    default: 1000,
    group: 'Storage',
    about:
      'how many responses of `/v1/responses` the server keeps for each API key; it deletes the oldest finished ones first',
  }),

  model: define({
    env: 'TALARIA_MODEL',
    key: 'model',
    kind: string(),
    default: undefined,
    defaultText: 'a model of the provider whose key is set, else the built-in demo model',
    group: 'Model',
    about: '`openai/…`, `anthropic/…`, `google/…` or `demo`; with a base URL, the name of a model there',
  }),
  embeddingModel: define({
    env: 'TALARIA_EMBEDDING_MODEL',
    key: 'embedding_model',
    kind: string(),
    default: undefined,
    defaultText: 'the model that each request names',
    group: 'Model',
    about:
      'model that `/v1/embeddings` uses, whatever a request names; OpenAI or the provider at the base URL makes the embeddings',
  }),
  openaiBaseUrl: define({
    env: 'OPENAI_BASE_URL',
    key: 'openai_base_url',
    kind: httpUrl(),
    default: undefined,
    group: 'Model',
    about: 'base URL of an OpenAI-compatible provider',
  }),
  openaiApiKey: define({
    env: 'OPENAI_API_KEY',
    key: 'openai_api_key',
    kind: secret(),
    default: undefined,
    group: 'Model',
    about: 'key for OpenAI or the provider at the base URL',
  }),
  anthropicApiKey: define({
    env: 'ANTHROPIC_API_KEY',
    key: 'anthropic_api_key',
    kind: secret(),
    default: undefined,
    group: 'Model',
    about: 'key for Anthropic',
  }),
  googleApiKey: define({
    env: 'GOOGLE_GENERATIVE_AI_API_KEY',
    key: 'google_generative_ai_api_key',
    kind: secret(),
    default: undefined,
    group: 'Model',
    about: 'key for Google',
  }),
  contextTokens: define({
    env: 'TALARIA_CONTEXT_TOKENS',
    key: 'context_tokens',
    kind: integer({ min: 0, max: 1_000_000_000 }),
    default: 128_000,
    group: 'Model',
    about:
      'how much of a conversation the model gets, in estimated tokens; the server leaves out the oldest messages, and none with 0',
  }),
  modelRetries: define({
    env: 'TALARIA_MODEL_RETRIES',
    key: 'model_retries',
    kind: integer({ min: 0, max: 100 }),
    default: 4,
    group: 'Model',
    about: 'how often the server retries a model call after a temporary failure',
  }),
  modelIdleSeconds: define({
    env: 'TALARIA_MODEL_IDLE_SECONDS',
    key: 'model_idle_seconds',
    kind: integer({ min: 1, max: 86_400 }),
    default: 600,
    group: 'Model',
    about: 'timeout of a silent model call; the server retries the call if it has shown nothing of it',
  }),
  instructions: define({
    env: 'TALARIA_INSTRUCTIONS',
    key: 'instructions',
    kind: string({ multiline: true, maxChars: 100_000 }),
    default: undefined,
    defaultText: 'the built-in prompt',
    group: 'Model',
    about: "the agent's system prompt, in place of the built-in one",
  }),

  maxConcurrentRuns: define({
    env: 'TALARIA_MAX_CONCURRENT_RUNS',
    key: 'max_concurrent_runs',
    kind: integer({ min: 1, max: 100_000 }),
    default: 10,
    group: 'Runs',
    about: 'runs that work at the same time; further ones wait in the queue',
  }),
  maxQueuedRuns: define({
    env: 'TALARIA_MAX_QUEUED_RUNS',
    key: 'max_queued_runs',
    kind: integer({ min: 0, max: 1_000_000 }),
    default: 1000,
    group: 'Runs',
    about:
      'runs that may wait; the server refuses further ones with 429, except for a key that has less than its share waiting',
  }),
  maxSteps: define({
    env: 'TALARIA_MAX_STEPS',
    key: 'max_steps',
    kind: integer({ min: 1, max: 1_000_000 }),
    default: 100,
    group: 'Runs',
    about: 'model calls that one run may make',
  }),
  maxRunSeconds: define({
    env: 'TALARIA_MAX_RUN_SECONDS',
    key: 'max_run_seconds',
    kind: seconds({ min: 1, max: LONGEST_TIMER_SECONDS }),
    default: 86_400,
    group: 'Runs',
    about: 'wall time that one run may take',
  }),
  maxRunTokens: define({
    env: 'TALARIA_MAX_RUN_TOKENS',
    key: 'max_run_tokens',
    kind: integer({ min: 0, max: 1_000_000_000_000 }),
    default: 0,
    group: 'Runs',
    about: 'tokens that one run may spend; 0 is no limit',
  }),
  webhookUrl: define({
    env: 'TALARIA_WEBHOOK_URL',
    key: 'webhook.url',
    kind: webhookUrl(),
    default: undefined,
    group: 'Runs',
    about:
      'receiver of the end and the approval requests of runs that name no receiver; see docs/webhooks.md',
  }),
  webhookSecret: define({
    env: 'TALARIA_WEBHOOK_SECRET',
    key: 'webhook.secret',
    kind: webhookSecret(),
    default: undefined,
    group: 'Runs',
    about: 'secret that signs the messages to that receiver',
  }),
  webhookAllowPrivate: define({
    env: 'TALARIA_WEBHOOK_ALLOW_PRIVATE',
    key: 'webhook.allow_private',
    kind: boolean(),
    default: false,
    group: 'Runs',
    about:
      'whether webhooks may call this machine and private networks, including webhooks that clients name',
  }),

  timezone: define({
    env: 'TALARIA_TIMEZONE',
    key: 'timezone',
    kind: timeZone(),
    default: undefined,
    defaultText: "the machine's",
    group: 'Jobs',
    about: 'time zone of new jobs that name no zone (docs/jobs.md)',
  }),
  maxJobs: define({
    env: 'TALARIA_MAX_JOBS',
    key: 'max_jobs',
    kind: integer({ min: 0, max: 100_000 }),
    default: 100,
    group: 'Jobs',
    about: 'jobs that one key may have',
  }),

  backend: define({
    env: 'TALARIA_BACKEND',
    key: 'backend',
    kind: choice(BACKEND_NAMES, PLANNED_BACKENDS),
    default: 'local',
    group: 'Sandbox and approvals',
    about: whereToolsRun(),
  }),
  dockerImage: define({
    env: 'TALARIA_DOCKER_IMAGE',
    key: 'docker_image',
    kind: string(),
    default: undefined,
    group: 'Sandbox and approvals',
    about: 'image of the containers; it has to be on the machine already',
  }),
  dockerHost: define({
    env: 'DOCKER_HOST',
    key: 'docker_host',
    // Checked only if it is used (containers.ts): other programs read it too, and accept more.
    kind: string(),
    default: 'unix:///var/run/docker.sock',
    group: 'Sandbox and approvals',
    about: "where Docker's daemon listens, on this machine",
  }),
  dockerRuntime: define({
    env: 'TALARIA_DOCKER_RUNTIME',
    key: 'docker_runtime',
    kind: string(),
    default: undefined,
    defaultText: "the daemon's",
    group: 'Sandbox and approvals',
    about: 'runtime of the containers, by its name in the daemon: runsc for gVisor (docs/isolation.md)',
  }),
  modalTokenId: define({
    env: 'MODAL_TOKEN_ID',
    key: 'modal_token_id',
    kind: string(),
    default: undefined,
    defaultText: 'from `~/.modal.toml`',
    group: 'Sandbox and approvals',
    about: "id of the token for Modal; Modal's own programs read it, too",
  }),
  modalTokenSecret: define({
    env: 'MODAL_TOKEN_SECRET',
    key: 'modal_token_secret',
    kind: secret(),
    default: undefined,
    defaultText: 'from `~/.modal.toml`',
    group: 'Sandbox and approvals',
    about: 'secret of the token for Modal',
  }),
  modalEnvironment: define({
    env: 'MODAL_ENVIRONMENT',
    key: 'modal_environment',
    kind: string(),
    default: undefined,
    defaultText: 'from `~/.modal.toml`',
    group: 'Sandbox and approvals',
    about: "Modal's environment that sandboxes are in",
  }),
  modalApp: define({
    env: 'TALARIA_MODAL_APP',
    key: 'modal_app',
    kind: string({ maxChars: 64 }),
    default: 'talaria',
    group: 'Sandbox and approvals',
    about: "Modal's app that sandboxes are in; created if missing",
  }),
  modalImage: define({
    env: 'TALARIA_MODAL_IMAGE',
    key: 'modal_image',
    kind: string(),
    default: 'debian:13',
    group: 'Sandbox and approvals',
    about: 'image of sandboxes on Modal, from a public registry',
  }),
  modalRegions: define({
    env: 'TALARIA_MODAL_REGIONS',
    key: 'modal_regions',
    kind: string(),
    default: undefined,
    defaultText: 'any',
    group: 'Sandbox and approvals',
    about: 'regions in which sandboxes on Modal may run, separated by commas',
  }),
  modalCpus: define({
    env: 'TALARIA_MODAL_CPUS',
    key: 'modal_cpus',
    kind: number({ min: 0.125, max: 64 }),
    default: 0.25,
    group: 'Sandbox and approvals',
    about: 'processors reserved for each sandbox on Modal; `TALARIA_SANDBOX_CPUS` is the most',
  }),
  modalMemoryMb: define({
    env: 'TALARIA_MODAL_MEMORY_MB',
    key: 'modal_memory_mb',
    kind: integer({ min: 128, max: 344_064 }),
    default: 512,
    group: 'Sandbox and approvals',
    about: 'memory reserved for each sandbox on Modal; `TALARIA_SANDBOX_MEMORY_MB` is the most',
  }),
  modalTimeoutSeconds: define({
    env: 'TALARIA_MODAL_TIMEOUT_SECONDS',
    key: 'modal_timeout_seconds',
    kind: integer({ min: 60, max: 86_400 }),
    default: 86_400,
    group: 'Sandbox and approvals',
    about: 'how long a sandbox on Modal lives at most, whatever runs in it',
  }),
  nomadDriver: define({
    env: 'TALARIA_NOMAD_DRIVER',
    key: 'nomad_driver',
    kind: choice(['docker', 'exec', 'raw_exec']),
    default: 'docker',
    group: 'Sandbox and approvals',
    about: 'what runs a task on its node; `raw_exec` and `exec` need bubblewrap and Talaria there',
  }),
  nomadImage: define({
    env: 'TALARIA_NOMAD_IMAGE',
    key: 'nomad_image',
    kind: string(),
    default: undefined,
    group: 'Sandbox and approvals',
    about:
      'image of the tasks, for the driver `docker`: one that `talaria sandbox-image` made, in a registry that the nodes reach',
  }),
  nomadProgram: define({
    env: 'TALARIA_NOMAD_PROGRAM',
    key: 'nomad_program',
    kind: string(),
    default: undefined,
    defaultText: 'that of this machine',
    group: 'Sandbox and approvals',
    about: 'path of the sandbox program on the nodes, for `raw_exec` and `exec`',
  }),
  nomadDatacenters: define({
    env: 'TALARIA_NOMAD_DATACENTERS',
    key: 'nomad_datacenters',
    kind: string(),
    default: '*',
    group: 'Sandbox and approvals',
    about: 'where tasks may run, separated by commas',
  }),
  nomadConstraints: define({
    env: 'TALARIA_NOMAD_CONSTRAINTS',
    key: 'nomad_constraints',
    kind: string(),
    default: undefined,
    group: 'Sandbox and approvals',
    about: 'which nodes may run tasks, separated by semicolons: `node.class = sandbox`',
  }),
  nomadCpuMhz: define({
    env: 'TALARIA_NOMAD_CPU_MHZ',
    key: 'nomad_cpu_mhz',
    kind: integer({ min: 1, max: 1_000_000 }),
    default: 100,
    group: 'Sandbox and approvals',
    about: 'processor time that a task reserves on its node',
  }),
  nomadMemoryMb: define({
    env: 'TALARIA_NOMAD_MEMORY_MB',
    key: 'nomad_memory_mb',
    kind: integer({ min: 10, max: MAX_MB }),
    default: 512,
    group: 'Sandbox and approvals',
    about: 'memory that a task reserves on its node, unless TALARIA_SANDBOX_MEMORY_MB says it',
  }),
  nomadAddress: define({
    env: 'NOMAD_ADDR',
    key: 'nomad_addr',
    // Checked only if it is used (containers.ts). This and the next are the names that Nomad's own clients read.
    kind: string(),
    default: 'http://127.0.0.1:4646',
    group: 'Sandbox and approvals',
    about: "where Nomad's API is",
  }),
  nomadToken: define({
    env: 'NOMAD_TOKEN',
    key: 'nomad_token',
    kind: secret(),
    default: undefined,
    group: 'Sandbox and approvals',
    about: 'ACL token for Nomad, with the policy in docs/nomad.md',
  }),
  nomadNamespace: define({
    env: 'NOMAD_NAMESPACE',
    key: 'nomad_namespace',
    kind: string(),
    default: undefined,
    group: 'Sandbox and approvals',
    about: 'namespace of the jobs in Nomad',
  }),
  nomadRegion: define({
    env: 'NOMAD_REGION',
    key: 'nomad_region',
    kind: string(),
    default: undefined,
    group: 'Sandbox and approvals',
    about: 'region of the jobs in Nomad',
  }),
  nomadCaCert: define({
    env: 'NOMAD_CACERT',
    key: 'nomad_cacert',
    kind: string(),
    default: undefined,
    group: 'Sandbox and approvals',
    about: "file with the certificate of the authority that Nomad's TLS is checked against",
  }),
  nomadClientCert: define({
    env: 'NOMAD_CLIENT_CERT',
    key: 'nomad_client_cert',
    kind: string(),
    default: undefined,
    group: 'Sandbox and approvals',
    about: 'file with the certificate that is shown to Nomad',
  }),
  nomadClientKey: define({
    env: 'NOMAD_CLIENT_KEY',
    key: 'nomad_client_key',
    kind: string(),
    default: undefined,
    group: 'Sandbox and approvals',
    about: 'file with the key of that certificate',
  }),
  nomadTlsServerName: define({
    env: 'NOMAD_TLS_SERVER_NAME',
    key: 'nomad_tls_server_name',
    kind: string(),
    default: undefined,
    group: 'Sandbox and approvals',
    about: "name in Nomad's certificate, if it is not the name in its address",
  }),
  nomadSkipVerify: define({
    env: 'NOMAD_SKIP_VERIFY',
    key: 'nomad_skip_verify',
    kind: boolean(),
    default: false,
    group: 'Sandbox and approvals',
    about: "whether Nomad's certificate is accepted without a check",
  }),
  slotsPerContainer: define({
    env: 'TALARIA_SLOTS_PER_CONTAINER',
    key: 'slots_per_container',
    kind: integer({ min: 1, max: 1000 }),
    default: 1,
    group: 'Sandbox and approvals',
    about: 'runs that share a container, its memory and its processors',
  }),
  minContainers: define({
    env: 'TALARIA_MIN_CONTAINERS',
    key: 'min_containers',
    kind: integer({ min: 0, max: 10_000 }),
    default: 1,
    group: 'Sandbox and approvals',
    about: 'containers that are always up',
  }),
  maxContainers: define({
    env: 'TALARIA_MAX_CONTAINERS',
    key: 'max_containers',
    kind: integer({ min: 1, max: 10_000 }),
    default: undefined,
    defaultText: 'as many as the runs that work at the same time need',
    group: 'Sandbox and approvals',
    about: 'most containers at the same time',
  }),
  warmSlots: define({
    env: 'TALARIA_WARM_SLOTS',
    key: 'warm_slots',
    kind: integer({ min: 0, max: 10_000 }),
    default: 1,
    group: 'Sandbox and approvals',
    about: 'free places in containers that are ready for the next runs',
  }),
  acquireTimeoutSeconds: define({
    env: 'TALARIA_ACQUIRE_TIMEOUT_SECONDS',
    key: 'acquire_timeout_seconds',
    kind: seconds({ min: 0.1, max: LONGEST_TIMER_SECONDS }),
    default: 60,
    group: 'Sandbox and approvals',
    about: 'how long a tool call waits for a place in a container',
  }),
  sandboxIsolation: define({
    env: 'TALARIA_SANDBOX_ISOLATION',
    key: 'sandbox_isolation',
    kind: choice(['auto', 'bubblewrap', 'unshare', 'none']),
    default: 'auto',
    group: 'Sandbox and approvals',
    about: 'how the local sandbox isolates commands; `auto` takes the strongest way that works',
  }),
  sandboxUsers: define({
    env: 'TALARIA_SANDBOX_USERS',
    key: 'sandbox_users',
    kind: sandboxUsers(),
    default: 'auto',
    group: 'Sandbox and approvals',
    about:
      "kernel users of runs in the local sandbox: `auto` gives each run its own if the server is root, `shared` uses the server's own",
  }),
  allowNetwork: define({
    env: 'TALARIA_ALLOW_NETWORK',
    key: 'allow_network',
    kind: boolean(),
    default: false,
    group: 'Sandbox and approvals',
    about: 'whether commands in the sandbox can reach the network',
  }),
  sandboxMemoryMb: define({
    env: 'TALARIA_SANDBOX_MEMORY_MB',
    key: 'sandbox_memory_mb',
    kind: integer({ min: 0, max: MAX_MB }),
    default: 4096,
    group: 'Sandbox and approvals',
    about: "memory of a run's commands; 0 is no limit",
  }),
  sandboxProcesses: define({
    env: 'TALARIA_SANDBOX_PROCESSES',
    key: 'sandbox_processes',
    // Threads count: a parallel build on a large machine has hundreds.
    kind: integer({ min: 0, max: 4_194_304 }),
    default: 1024,
    group: 'Sandbox and approvals',
    about: "processes and threads of a run's commands; 0 is no limit",
  }),
  sandboxCpus: define({
    env: 'TALARIA_SANDBOX_CPUS',
    key: 'sandbox_cpus',
    kind: number({ min: 0, max: 4096 }),
    default: 0,
    group: 'Sandbox and approvals',
    about: "processors' worth of time for a run's commands, such as 1.5; 0 is no limit",
  }),
  sandboxFileSizeMb: define({
    env: 'TALARIA_SANDBOX_FILE_SIZE_MB',
    key: 'sandbox_file_size_mb',
    kind: integer({ min: 0, max: MAX_MB }),
    default: 10_240,
    group: 'Sandbox and approvals',
    about: 'largest file that a command may write; 0 is no limit',
  }),
  sandboxWorkspaceMb: define({
    env: 'TALARIA_SANDBOX_WORKSPACE_MB',
    key: 'sandbox_workspace_mb',
    kind: integer({ min: 0, max: MAX_MB }),
    default: 10_240,
    group: 'Sandbox and approvals',
    about: "disk space of a run's workspace, including its /tmp; 0 is no limit",
  }),
  toolTimeoutSeconds: define({
    env: 'TALARIA_TOOL_TIMEOUT_SECONDS',
    key: 'tool_timeout_seconds',
    kind: seconds({ min: 0.1, max: LONGEST_TIMER_SECONDS }),
    default: 180,
    group: 'Sandbox and approvals',
    about: 'how long a tool may take; a call may ask for less',
  }),
  approvalTimeoutSeconds: define({
    env: 'TALARIA_APPROVAL_TIMEOUT_SECONDS',
    key: 'approval_timeout_seconds',
    kind: seconds({ min: 0.1, max: LONGEST_TIMER_SECONDS }),
    default: 300,
    group: 'Sandbox and approvals',
    about: 'how long an approval waits for an answer before it counts as denied',
  }),
  clientModelSettings: define({
    env: 'TALARIA_CLIENT_MODEL_SETTINGS',
    key: 'client_model_settings',
    kind: choices(MODEL_SETTING_NAMES),
    // A service tier is a price, so the operator chooses it.
    default: MODEL_SETTING_NAMES.filter((name) => name !== 'service_tier'),
    group: 'Model',
    about: 'settings of the model that clients may set; the server ignores any others',
  }),
  clientToolTimeoutSeconds: define({
    env: 'TALARIA_CLIENT_TOOL_TIMEOUT_SECONDS',
    key: 'client_tool_timeout_seconds',
    kind: seconds({ min: 0.1, max: LONGEST_TIMER_SECONDS }),
    default: 600,
    group: 'Runs',
    about: 'how long a run waits for the output of a tool that its client runs',
  }),
  approvalsIsolated: define({
    env: 'TALARIA_APPROVALS_ISOLATED',
    key: 'approvals.isolated',
    kind: choice(['ask', 'skip']),
    default: 'ask',
    group: 'Sandbox and approvals',
    about: 'whether gated commands ask first if the sandbox is isolated',
  }),
  approvalsUnisolated: define({
    env: 'TALARIA_APPROVALS_UNISOLATED',
    key: 'approvals.unisolated',
    kind: choice(['ask', 'skip']),
    default: 'ask',
    group: 'Sandbox and approvals',
    about: 'whether every command asks first if no isolation works',
  }),
  approvalsAllow: define({
    env: 'TALARIA_APPROVALS_ALLOW',
    key: 'approvals.allow',
    kind: commandRuleList(),
    default: [] as readonly string[],
    defaultText: 'none',
    group: 'Sandbox and approvals',
    about: 'commands that run without a question, except those that never run (docs/approvals.md)',
  }),
  approvalsAsk: define({
    env: 'TALARIA_APPROVALS_ASK',
    key: 'approvals.ask',
    kind: commandRuleList(),
    default: [] as readonly string[],
    defaultText: 'none',
    group: 'Sandbox and approvals',
    about: 'commands that always ask first',
  }),
  approvalsDeny: define({
    env: 'TALARIA_APPROVALS_DENY',
    key: 'approvals.deny',
    kind: commandRuleList(),
    default: [] as readonly string[],
    defaultText: 'none',
    group: 'Sandbox and approvals',
    about: 'commands that the gate refuses without a question',
  }),
  mcpServers: define({
    env: 'TALARIA_MCP_SERVERS',
    key: 'mcp_servers',
    kind: mcpServers(),
    default: [] as readonly McpServerConfig[],
    defaultText: 'none',
    group: 'Sandbox and approvals',
    about: 'MCP servers whose tools the agent gets, as JSON or as an object in the file; see docs/mcp.md',
  }),

  slots: define({
    env: 'TALARIA_SLOTS',
    key: 'slots',
    kind: boolean(),
    default: false,
    group: 'Slots',
    about: 'whether clients may use the sandbox without the agent (docs/slots.md)',
  }),
  maxSlots: define({
    env: 'TALARIA_MAX_SLOTS',
    key: 'max_slots',
    kind: integer({ min: 1, max: 100_000 }),
    default: 32,
    group: 'Slots',
    about: 'slots that clients may hold at the same time, beside those of runs',
  }),
  maxSlotsPerKey: define({
    env: 'TALARIA_MAX_SLOTS_PER_KEY',
    key: 'max_slots_per_key',
    kind: integer({ min: 1, max: 100_000 }),
    default: undefined,
    defaultText: 'all of them with one key, half of them with several',
    group: 'Slots',
    about: 'slots that one key may hold',
  }),
  slotWaitSeconds: define({
    env: 'TALARIA_SLOT_WAIT_SECONDS',
    key: 'slot_wait_seconds',
    kind: seconds({ min: 0, max: 3600 }),
    default: 30,
    group: 'Slots',
    about: 'how long a request for a slot waits for a free one before it fails with 429',
  }),
  slotIdleSeconds: define({
    env: 'TALARIA_SLOT_IDLE_SECONDS',
    key: 'slot_idle_seconds',
    kind: seconds({ min: 0.1, max: LONGEST_TIMER_SECONDS }),
    default: 600,
    group: 'Slots',
    about: 'how long a client may hold a slot without using it; then the server releases it',
  }),
  slotFilesSeconds: define({
    env: 'TALARIA_SLOT_FILES_SECONDS',
    key: 'slot_files_seconds',
    kind: seconds({ min: 0, max: LONGEST_TIMER_SECONDS }),
    default: 3600,
    group: 'Slots',
    about: 'how long the server keeps the files of a released trajectory for its next slot',
  }),

  drainSeconds: define({
    env: 'TALARIA_DRAIN_SECONDS',
    key: 'drain_seconds',
    kind: seconds({ min: 0, max: 86_400 }),
    default: 30,
    group: 'Operation',
    about: 'how long a stopping server waits for its runs before it cuts them off',
  }),
  tellApprovals: define({
    env: 'TALARIA_TELL_APPROVALS',
    key: 'tell_approvals',
    kind: boolean(),
    default: true,
    group: 'Runs',
    about: 'whether streams of chats and responses also show an approval request as text in the answer',
  }),
  inlineGraceSeconds: define({
    env: 'TALARIA_INLINE_GRACE_SECONDS',
    key: 'inline_grace_seconds',
    kind: seconds({ min: 0, max: 86_400 }),
    default: 5,
    group: 'Operation',
    about:
      'how long a chat completion or response continues after its client has gone, before the server stops it',
  }),
  leaseSeconds: define({
    env: 'TALARIA_LEASE_SECONDS',
    key: 'lease_seconds',
    // Below a second a busy event loop would lose leases it still works under.
    kind: seconds({ min: 1, max: 3600 }),
    // With a poll every second, another server has a dead server's runs within ten seconds.
    default: 7,
    group: 'Operation',
    about: 'how long a run stays with a server that gives no sign of life',
  }),
  subscriberBufferBytes: define({
    env: 'TALARIA_SUBSCRIBER_BUFFER_BYTES',
    key: 'subscriber_buffer_bytes',
    kind: integer({ min: 4096, max: 1_073_741_824 }),
    default: 1_048_576,
    group: 'Operation',
    about: 'unread bytes after which an event stream gets no live events until its client has read them',
  }),
  otlpEndpoint: define({
    env: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    key: 'otel_exporter_otlp_endpoint',
    kind: httpUrl(),
    default: undefined,
    group: 'Operation',
    about:
      'base URL of an OpenTelemetry receiver; the server posts traces to `/v1/traces` below it (docs/observability.md)',
  }),
  otlpTracesEndpoint: define({
    env: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    key: 'otel_exporter_otlp_traces_endpoint',
    kind: httpUrl(),
    default: undefined,
    group: 'Operation',
    about: 'URL to which the server posts traces instead, used as it is',
  }),
  otlpHeaders: define({
    env: 'OTEL_EXPORTER_OTLP_HEADERS',
    key: 'otel_exporter_otlp_headers',
    kind: headerList(),
    default: undefined,
    group: 'Operation',
    about:
      'headers of the requests that post traces, `name=value,name2=value2` with `%`-escapes, or an object in the file',
  }),
  otelServiceName: define({
    env: 'OTEL_SERVICE_NAME',
    key: 'otel_service_name',
    kind: string(),
    default: 'talaria',
    group: 'Operation',
    about: 'name of this server in traces',
  }),
  maxBodiesMb: define({
    env: 'TALARIA_MAX_BODIES_MB',
    key: 'max_bodies_mb',
    kind: integer({ min: 10, max: 1_000_000 }),
    default: 256,
    group: 'Operation',
    about:
      'megabytes of request bodies that the server holds at once, half of them for one key if there are several; it refuses more until there is room',
  }),
  logLevel: define({
    env: 'TALARIA_LOG_LEVEL',
    key: 'log_level',
    kind: choice(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
    default: 'info',
    group: 'Operation',
    about: 'least severe level that the server logs',
  }),
  logFormat: define({
    env: 'TALARIA_LOG_FORMAT',
    key: 'log_format',
    kind: choice(['json']),
    default: 'json',
    group: 'Operation',
    about: 'form of the log lines',
  }),
};

export type SettingName = keyof typeof settings;

/** The value of each setting, as the table types it. */
export type SettingValues = {
  readonly [Name in SettingName]: ValueOf<(typeof settings)[Name]>;
};

type ValueOf<S> = S extends Setting<infer T, infer D> ? (undefined extends D ? T | undefined : T) : never;

/** The table for code that treats all settings alike. */
export const settingList: readonly (readonly [SettingName, Setting<unknown>])[] = Object.entries(
  settings,
) as unknown as [SettingName, Setting<unknown>][];

export function flagOf(setting: Pick<Setting<unknown>, 'key'>): string {
  return setting.key.replace(/[._]/g, '-');
}

function define<T, const D extends T | undefined>(setting: Setting<T, D>): Setting<T, D> {
  return setting;
}
