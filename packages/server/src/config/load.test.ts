import { describe, expect, expectTypeOf, it } from 'vitest';
import type { Config } from './index.ts';
import { ConfigError } from './load.ts';
import { type Setting, settingList } from './settings.ts';
import { load, problemsOf } from './testing/load.ts';

const FILE = '/home/ada/.talaria/config.json';

describe('precedence', () => {
  const files = { [FILE]: '{"port": 3, "max_steps": 30, "lease_seconds": 3}' };
  const env = { API_SERVER_PORT: '2', TALARIA_MAX_STEPS: '20' };

  it('is flag, environment, file, default', () => {
    const { config } = load({ argv: ['--port', '1'], env, files });
    expect(config).toMatchObject({ port: 1, maxSteps: 20, leaseSeconds: 3, drainSeconds: 30 });
    expect(config.sources).toMatchObject({
      port: 'flag --port',
      maxSteps: 'environment',
      leaseSeconds: `file ${FILE}`,
      drainSeconds: 'default',
    });
  });

  it('takes an empty variable as unset', () => {
    const { config } = load({ env: { API_SERVER_PORT: '', API_SERVER_KEY: '', TALARIA_CONFIG: '' }, files });
    expect(config.port).toBe(3);
    expect(config.apiKeys).toEqual([]);
  });

  it('lets a flag override an invalid variable', () => {
    expect(load({ argv: ['--port=1'], env: { API_SERVER_PORT: 'x' } }).config.port).toBe(1);
  });
});

it('starts from the documented defaults', () => {
  const { config, warnings } = load();
  expect(warnings).toEqual([]);
  const { sources, ...values } = config;
  expect(new Set(Object.values(sources))).toEqual(new Set(['default']));
  expect(values).toEqual({
    role: 'all',
    host: '127.0.0.1',
    port: 8642,
    apiKeys: [],
    corsOrigins: [],
    ui: true,
    modelName: 'hermes-agent',
    dataDir: '/home/ada/.talaria',
    database: { kind: 'sqlite', path: '/home/ada/.talaria/talaria.db' },
    checkpoints: true,
    checkpointMaxBytes: 1_073_741_824,
    checkpointMaxFileBytes: 134_217_728,
    checkpointIgnore: undefined,
    sessionWorkspace: 'shared',
    runRetentionSeconds: 604_800,
    runDiskBytes: undefined,
    runHeadRetentionSeconds: 2_592_000,
    sessionRetentionSeconds: 2_592_000,
    model: undefined,
    openaiBaseUrl: undefined,
    openaiApiKey: undefined,
    anthropicApiKey: undefined,
    googleApiKey: undefined,
    prices: new Map(),
    contextTokens: 128_000,
    modelRetries: 4,
    modelIdleSeconds: 600,
    instructions: undefined,
    maxConcurrentRuns: 10,
    maxQueuedRuns: 1000,
    maxFileBytes: 536_870_912,
    maxFilesPerKey: 10_000,
    maxFileBytesPerKey: 10_737_418_240,
    maxStoredResponses: 1000,
    maxSteps: 100,
    maxRunSeconds: 86_400,
    maxRunTokens: 0,
    maxSlots: 32,
    maxSlotsPerKey: 32,
    slots: false,
    slotWaitSeconds: 30,
    slotIdleSeconds: 600,
    slotFilesSeconds: 3600,
    inlineGraceSeconds: 5,
    tellApprovals: true,
    webhookUrl: undefined,
    webhookSecret: undefined,
    webhookAllowPrivate: false,
    timezone: new Intl.DateTimeFormat().resolvedOptions().timeZone,
    maxJobs: 100,
    backend: 'local',
    dockerImage: undefined,
    dockerHost: 'unix:///var/run/docker.sock',
    kubernetesCpus: 0.1,
    kubernetesMemoryMb: 512,
    kubernetesDiskMb: 1024,
    modalTokenId: undefined,
    modalTokenSecret: undefined,
    modalEnvironment: undefined,
    modalApp: 'talaria',
    modalImage: 'debian:13',
    modalRegions: undefined,
    modalCpus: 0.25,
    modalMemoryMb: 512,
    modalTimeoutSeconds: 86_400,
    nomadDriver: 'docker',
    nomadDatacenters: '*',
    nomadCpuMhz: 100,
    nomadMemoryMb: 512,
    nomadAddress: 'http://127.0.0.1:4646',
    nomadSkipVerify: false,
    slotsPerContainer: 1,
    minContainers: 1,
    maxContainers: 20,
    warmSlots: 1,
    acquireTimeoutSeconds: 60,
    sandboxIsolation: 'auto',
    sandboxUsers: 'auto',
    sandboxMemoryMb: 4096,
    sandboxProcesses: 1024,
    sandboxCpus: 0,
    sandboxFileSizeMb: 10_240,
    sandboxWorkspaceMb: 10_240,
    directories: [],
    workspaceSetupMb: 2048,
    workspaceSetupEntries: 100_000,
    allowNetwork: false,
    toolTimeoutSeconds: 180,
    approvalTimeoutSeconds: 300,
    clientModelSettings: [
      'temperature',
      'top_p',
      'max_output_tokens',
      'stop',
      'seed',
      'presence_penalty',
      'frequency_penalty',
      'logit_bias',
      'reasoning_effort',
      'verbosity',
    ],
    clientToolTimeoutSeconds: 600,
    approvalsIsolated: 'ask',
    approvalsUnisolated: 'ask',
    approvalsAllow: [],
    approvalsAsk: [],
    approvalsDeny: [],
    mcpServers: [],
    otlpEndpoint: undefined,
    otlpTracesEndpoint: undefined,
    otlpHeaders: undefined,
    otelServiceName: 'talaria',
    drainSeconds: 30,
    leaseSeconds: 7,
    subscriberBufferBytes: 1_048_576,
    maxBodiesMb: 256,
    logLevel: 'info',
    logFormat: 'json',
    configFile: undefined,
  });
});

it('types the configuration by the table', () => {
  expectTypeOf<Config['port']>().toEqualTypeOf<number>();
  expectTypeOf<Config['model']>().toEqualTypeOf<string | undefined>();
  expectTypeOf<Config['allowNetwork']>().toEqualTypeOf<boolean>();
  expectTypeOf<Config['approvalsIsolated']>().toEqualTypeOf<'ask' | 'skip'>();
  expectTypeOf<Config['corsOrigins']>().toEqualTypeOf<'*' | readonly string[]>();
});

it('has defaults that its own rules allow', () => {
  for (const [, setting] of settingList as readonly [string, Setting<unknown>][]) {
    if (setting.default === undefined || setting.defaultText !== undefined) continue;
    const read = setting.kind.fromText(String(setting.default), {
      homeDir: '/',
      baseDir: '/',
      env: {},
    });
    expect(read, setting.env).toHaveProperty('value');
  }
});

describe('the data directory', () => {
  it('is made absolute, with ~ as the home directory', () => {
    expect(load({ env: { TALARIA_DATA_DIR: '~/runs' } }).config.dataDir).toBe('/home/ada/runs');
    expect(load({ env: { TALARIA_DATA_DIR: '~' } }).config.dataDir).toBe('/home/ada');
    expect(load({ argv: ['--data-dir', 'runs'] }).config.dataDir).toBe('/srv/runs');
    expect(load({ argv: ['--data-dir', 'runs'] }).config.database).toEqual({
      kind: 'sqlite',
      path: '/srv/runs/talaria.db',
    });
  });

  it('is relative to the file in a file', () => {
    const files = { '/etc/talaria/t.json': '{"data_dir": "data"}' };
    expect(load({ argv: ['--config', '/etc/talaria/t.json'], files }).config.dataDir).toBe(
      '/etc/talaria/data',
    );
  });

  it('refuses ~name and an unknown home', () => {
    expect(problemsOf({ env: { TALARIA_DATA_DIR: '~bob/x' } })).toEqual([
      'TALARIA_DATA_DIR is "~bob/x": ~name is not understood; allowed: the path of a directory (~ stands for the home directory)',
    ]);
    expect(problemsOf({ homeDir: '' })).toEqual([
      'TALARIA_DATA_DIR is "~/.talaria": the home directory is not known; allowed: the path of a directory (~ stands for the home directory)',
    ]);
  });

  it('cannot be moved by the file that was found in it', () => {
    const files = { [FILE]: '{"data_dir": "/elsewhere"}' };
    expect(problemsOf({ files })).toEqual([
      `data_dir in ${FILE} is "/elsewhere", but the file was found through the data directory; allowed: leave it out here and set TALARIA_DATA_DIR, or name the file with --config`,
    ]);
    expect(load({ files: { [FILE]: '{"data_dir": "."}' } }).config.dataDir).toBe('/home/ada/.talaria');
  });
});

describe('the configuration file', () => {
  it('is found by flag, then by variable, then in the data directory', () => {
    const files = {
      '/srv/a.json': '{"port": 1}',
      '/home/ada/b.json': '{"port": 2}',
      '/d/config.json': '{"port": 3}',
    };
    const env = { TALARIA_CONFIG: '~/b.json', TALARIA_DATA_DIR: '/d' };
    expect(load({ argv: ['--config', 'a.json'], env, files }).config).toMatchObject({
      port: 1,
      configFile: '/srv/a.json',
    });
    expect(load({ env, files }).config.port).toBe(2);
    expect(load({ env: { TALARIA_DATA_DIR: '/d' }, files }).config.port).toBe(3);
  });

  it('must exist where it was named', () => {
    expect(problemsOf({ argv: ['--config', 'no.json'] })).toEqual([
      '--config is "no.json": there is no such file; allowed: the path of a JSON file',
    ]);
    expect(problemsOf({ env: { TALARIA_CONFIG: '/no.json' } })).toEqual([
      'TALARIA_CONFIG is "/no.json": there is no such file; allowed: the path of a JSON file',
    ]);
  });

  it('must be readable where it exists', () => {
    const readFile = () => {
      throw Object.assign(new Error('denied'), { code: 'EACCES' });
    };
    expect(problemsOf({ readFile })).toEqual([`${FILE} cannot be read (EACCES)`]);
  });
});

it('reports every problem together', () => {
  const problems = problemsOf({
    argv: ['--prot', '1', '--max-steps', '0'],
    env: { TALARIA_LOG_LEVEL: 'loud', TALARIA_BACKEND: 'firecracker' },
    files: { [FILE]: '{"lease_seconds": "15", "approvals": {"isolated": "maybe", "x": 1}}' },
  });
  expect([...problems].sort()).toEqual([
    '--max-steps is "0"; allowed: an integer from 1 to 1000000',
    'TALARIA_BACKEND is "firecracker"; allowed: local, docker, kubernetes, modal or nomad',
    'TALARIA_LOG_LEVEL is "loud"; allowed: trace, debug, info, warn, error, fatal or silent',
    `approvals.isolated in ${FILE} is "maybe"; allowed: ask or skip`,
    `lease_seconds in ${FILE} is "15"; allowed: a number of seconds from 1 to 3600`,
    'unknown flag --prot; did you mean --port?',
    `unknown key approvals.x in ${FILE}; approvals has the keys isolated, unisolated, allow, ask, deny`,
  ]);
});

it('puts all problems into the message of the error', () => {
  expect(() => load({ argv: ['--port', 'x', '--max-steps', 'y'] })).toThrow(ConfigError);
  expect(() => load({ argv: ['--port', 'x', '--max-steps', 'y'] })).toThrow(
    /2 problems:\n--port .*\n--max-steps /s,
  );
});
