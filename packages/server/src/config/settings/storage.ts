/** Where runs, events, sessions and responses are stored, and for how long. */

import { boolean, choice, directory, integer, seconds, string } from '../kinds/kinds.ts';
import { databaseUrl } from '../kinds/network-kinds.ts';
import { define } from './setting.ts';

export const storageSettings = {
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
  checkpoints: define({
    env: 'TALARIA_CHECKPOINTS',
    key: 'checkpoints',
    kind: boolean(),
    default: true,
    group: 'Storage',
    about:
      'keep the files of a run after each step: for a run that continues on another machine, for the next run of its session, for `?at=`, diffs and forks',
  }),
  checkpointMaxBytes: define({
    env: 'TALARIA_CHECKPOINT_MAX_BYTES',
    key: 'checkpoint_max_bytes',
    kind: integer({ min: 1, max: 1_099_511_627_776 }),
    default: 1_073_741_824,
    group: 'Storage',
    about:
      'how many bytes the checkpoints of one run may store; contents that did not change are stored once',
  }),
  checkpointMaxFileBytes: define({
    env: 'TALARIA_CHECKPOINT_MAX_FILE_BYTES',
    key: 'checkpoint_max_file_bytes',
    kind: integer({ min: 1, max: 1_099_511_627_776 }),
    default: 134_217_728,
    group: 'Storage',
    about: 'larger files are left out of checkpoints, and the checkpoint says so',
  }),
  checkpointIgnore: define({
    env: 'TALARIA_CHECKPOINT_IGNORE',
    key: 'checkpoint_ignore',
    kind: string({ maxChars: 4096 }),
    default: undefined,
    group: 'Storage',
    about:
      'patterns of files that checkpoints leave out, separated by commas, in the manner of .gitignore: `node_modules,*.o`',
  }),
  sessionWorkspace: define({
    env: 'TALARIA_SESSION_WORKSPACE',
    key: 'session_workspace',
    kind: choice(['shared', 'fresh']),
    default: 'shared',
    group: 'Storage',
    about: '`shared`: a run begins with the files of the run before it in its session; `fresh`: with none',
  }),
  runRetentionSeconds: define({
    env: 'TALARIA_RUN_RETENTION_SECONDS',
    key: 'run_retention_seconds',
    // Retention is enforced by a sweep, not a timer: ten years simply means "long".
    kind: seconds({ min: 0, max: 315_360_000 }),
    default: 604_800,
    group: 'Storage',
    about:
      'how long the server keeps a finished run, its events and its workspace; a job may say otherwise, and a run can be kept for good',
  }),
  runDiskBytes: define({
    env: 'TALARIA_RUN_DISK_BYTES',
    key: 'run_disk_bytes',
    kind: integer({ min: 1, max: 1_125_899_906_842_624 }),
    default: undefined,
    defaultText: 'half of the disk of the data directory',
    group: 'Storage',
    about:
      'how much finished runs may take on the disk of this server; beyond that, those that ended first go before their time',
  }),
  runHeadRetentionSeconds: define({
    env: 'TALARIA_RUN_HEAD_RETENTION_SECONDS',
    key: 'run_head_retention_seconds',
    kind: seconds({ min: 0, max: 315_360_000 }),
    default: 2_592_000,
    group: 'Storage',
    about:
      'how long after its end a run stays in lists, without its events and its workspace; 0 is as long as the run itself is kept',
  }),
  sessionRetentionSeconds: define({
    env: 'TALARIA_SESSION_RETENTION_SECONDS',
    key: 'session_retention_seconds',
    kind: seconds({ min: 0, max: 315_360_000 }),
    default: 2_592_000,
    group: 'Storage',
    about: 'how long the server keeps an unused session; 0 is for ever',
  }),
  maxFileBytes: define({
    env: 'TALARIA_MAX_FILE_BYTES',
    key: 'max_file_bytes',
    kind: integer({ min: 1, max: 1_099_511_627_776 }),
    default: 536_870_912,
    group: 'Storage',
    about: 'largest file that a client may upload, to `/v1/files` or into a workspace, in bytes',
  }),
  maxFilesPerKey: define({
    env: 'TALARIA_MAX_FILES_PER_KEY',
    key: 'max_files_per_key',
    kind: integer({ min: 0, max: 10_000_000 }),
    default: 10_000,
    group: 'Storage',
    about: 'how many uploaded files each API key may have',
  }),
  maxFileBytesPerKey: define({
    env: 'TALARIA_MAX_FILE_BYTES_PER_KEY',
    key: 'max_file_bytes_per_key',
    kind: integer({ min: 0, max: 1_125_899_906_842_624 }),
    default: 10_737_418_240,
    group: 'Storage',
    about: 'how many bytes the uploaded files of each API key may have together',
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
};
