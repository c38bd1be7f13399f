/** How many runs work and wait, what one run may use, and who is told about it. */

import { boolean, integer, LONGEST_TIMER_SECONDS, seconds } from '../kinds/kinds.ts';
import { webhookSecret, webhookUrl } from '../kinds/webhook-kinds.ts';
import { define } from './setting.ts';

export const runsSettings = {
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
  clientToolTimeoutSeconds: define({
    env: 'TALARIA_CLIENT_TOOL_TIMEOUT_SECONDS',
    key: 'client_tool_timeout_seconds',
    kind: seconds({ min: 0.1, max: LONGEST_TIMER_SECONDS }),
    default: 600,
    group: 'Runs',
    about: 'how long a run waits for the output of a tool that its client runs',
  }),
  tellApprovals: define({
    env: 'TALARIA_TELL_APPROVALS',
    key: 'tell_approvals',
    kind: boolean(),
    default: true,
    group: 'Runs',
    about: 'whether streams of chats and responses also show an approval request as text in the answer',
  }),
};
