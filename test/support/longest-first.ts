/**
 * The order of the test files in a clone that has not run them yet: the long ones first, so that none runs alone at the
 * end. Without this, large files come first, and the contract suites are in small ones.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Those that keep a worker busy longest, in `npm test` or in the soak tests. */
const LONG = [
  'packages/sandbox/src/docker/docker-backend.test.ts',
  'packages/sandbox/src/docker/gvisor.test.ts',
  'packages/sandbox/src/nomad/nomad-backend.test.ts',
  'packages/sandbox/src/nomad/raw-exec-contract.test.ts',
  'packages/sandbox/src/nomad/docker-contract.test.ts',
  'test/installed/server.test.ts',
  'test/chaos/many-servers.test.ts',
  'test/e2e/waiting.test.ts',
  'packages/sandbox/src/local/unshare-contract.test.ts',
  'test/compat/python/openai.test.ts',
  'test/compat/javascript/openai.test.ts',
  'test/clients/python.test.ts',
  'test/clients/agent-env.test.ts',
  'test/installed/client.test.ts',
  'test/chaos/long-session.test.ts',
  'packages/sandbox/src/local/bubblewrap-contract.test.ts',
  'test/conformance/conformance.test.ts',
  'test/dashboard/every-page.test.ts',
  'packages/sandbox/src/containers/inside-workspaces-contract.test.ts',
  'packages/sandbox/src/containers/container-backend.test.ts',
  'test/dashboard/home.test.ts',
  'test/e2e/checkpoints-elsewhere.test.ts',
  'test/e2e/subscribers.test.ts',
  'test/dashboard/sections.test.ts',
  'test/dashboard/run-files.test.ts',
  'test/cli/doctor.test.ts',
  'test/cli/pipes.test.ts',
  'test/e2e/fork-files.test.ts',
  'test/e2e/webhooks.test.ts',
  // Waits for sweeps, which come every ten seconds.
  'test/e2e/kept-runs.test.ts',
  'test/e2e/workspace-mount.test.ts',
  'packages/server/src/diff/patch.test.ts',
  'packages/server/src/journal/sqlite/sqlite-journal.test.ts',
  'packages/sandbox/src/local/mounted-directories.test.ts',
  'test/cli/completion.test.ts',
  'packages/server/src/cli/workspace/apply/apply.test.ts',
  'test/dashboard/tabs.test.ts',
  'test/e2e/postgres.test.ts',
  'test/cli/terminal.test.ts',
  'test/chaos/state-survives-kill.test.ts',
  'test/e2e/traces.test.ts',
  'test/chaos/fork-survives-kill.test.ts',
  'test/e2e/jobs.test.ts',
  'test/e2e/mcp.test.ts',
  'packages/server/src/journal/postgres/blobs.test.ts',
  'test/cli/artifacts.test.ts',
  'packages/server/src/mcp/failures.test.ts',
  'test/e2e/artifacts-elsewhere.test.ts',
  'packages/server/src/journal/postgres/postgres-journal.test.ts',
  'test/conformance/command/conformance-command.test.ts',
  'packages/sandbox/src/local/local-backend.test.ts',
  'packages/server/src/journal/moving/move-store.test.ts',
  'test/e2e/lifecycle.test.ts',
  'packages/server/src/journal/postgres/query-plans.test.ts',
  // Waits ten seconds for a database that never answers.
  'packages/server/src/start/configured-store.test.ts',
  'test/e2e/artifacts.test.ts',
  'test/dashboard/run.test.ts',
  'test/e2e/workspace-git.test.ts',
  'test/chaos/recovery-limit.test.ts',
  'test/e2e/retention.test.ts',
  'packages/sandbox/src/containers/host-workspaces-contract.test.ts',
  'packages/sandbox/src/local/background/background.test.ts',
  'test/dashboard/approve.test.ts',
  'test/client/client-tools.test.ts',
  'test/e2e/feed.test.ts',
  'test/cli/run-directory.test.ts',
  'test/e2e/sessions.test.ts',
  'test/chaos/kill-at-every-failpoint.test.ts',
  'test/client/server-restart.test.ts',
  'test/conformance/slots.test.ts',
  'test/chaos/stalled-and-stopped-servers.test.ts',
  'test/e2e/openai-responses.test.ts',
  'test/e2e/provider-failures.test.ts',
  'test/chaos/many-unfinished-runs.test.ts',
  'test/e2e/migrate-store.test.ts',
  'packages/server/src/journal/postgres/failover.test.ts',
  'test/e2e/session-files.test.ts',
  'test/dashboard/evicted.test.ts',
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { root } = this.ctx.config;
    const rank = ({ moduleId }: TestSpecification) => {
      const place = LONG.indexOf(moduleId.slice(root.length + 1));
      return place === -1 ? LONG.length : place;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}
