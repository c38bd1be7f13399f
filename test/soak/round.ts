/**
 * One round: new servers on an empty store, clients that do the work of the plan, kills, and then silence: everything has to end, the
 * checker looks at all of it, every run is evicted, and nothing may be left.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Api } from '../support/api.ts';
import { waitFor } from '../support/wait-for.ts';
import type { Disruption, Evidence, StoreName, Violation } from './evidence.ts';
import { Installation, type Services } from './installation.ts';
import { killInTurn } from './killer.ts';
import { leftovers } from './leftovers.ts';
import { MarkCollector } from './mark-collector.ts';
import { PersistentClient } from './persistent-client.ts';
import { Plan } from './plan.ts';
import { deleteIntervalJob, startIntervalJob } from './work/interval-job.ts';
import { perform } from './work/perform.ts';

const CHECKER = fileURLToPath(new URL('checker/check.ts', import.meta.url));
const CHECK_LIMIT_MS = 600_000;
/** Longer than the pause after a few failed attempts. */
const SENT_LIMIT_MS = 120_000;
const REPORT_BYTES = 64 * 1024 * 1024;
/** As many as one server works on at the same time, and a few that wait. */
const CLIENTS = 12;

export interface RoundOptions {
  seed: number;
  round: number;
  store: StoreName;
  /** How many kills. */
  kills: number;
  /** Its files. */
  directory: string;
  services: Services;
  /** Whether it should end early. */
  isOver(): boolean;
  onKill(disruption: Disruption): void;
}

export interface RoundResult {
  disruptions: Disruption[];
  /** How many runs ended, by their end. */
  ends: Record<string, number>;
  work: Record<string, number>;
  calls: number;
  violations: Violation[];
}

export async function playRound(options: RoundOptions): Promise<RoundResult> {
  const { seed, round, store, directory, services } = options;
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  await using installation = await Installation.open(store, directory, services);
  using collector = new MarkCollector(installation.dataDirs);
  const evidence: Evidence = {
    ...{ seed, round, store, apiKey: installation.apiKey },
    ...{ urls: [], disruptions: [], runs: [], sessions: [], jobs: [], uploads: [], slots: [] },
    ...{ webhooks: [], marks: [], unexpected: [] },
  };
  const work = await workUnderKills(options, installation, collector, evidence);

  await installation.startAll();
  await webhooksSent(installation);
  collector.collect();
  evidence.urls = installation.victims.map(({ process }) => process.url);
  evidence.marks = collector.marks;
  evidence.webhooks = installation.receiver.received.map(({ headers, message }) => ({
    header: String(headers['webhook-id']),
    message,
  }));
  for (const [index, { crashes }] of installation.victims.entries()) {
    for (const what of crashes) evidence.unexpected.push({ work: `server ${index + 1}`, what });
  }
  const path = join(directory, 'evidence.json');
  writeFileSync(path, JSON.stringify(evidence));
  const violations = await runChecker(path);
  // Where something is broken, everything stays as it is.
  if (violations.length === 0) violations.push(...(await leftovers(installation, evidence)));
  const calls = evidence.runs.flatMap(({ calls }) => calls).length;
  return { disruptions: evidence.disruptions, ends: endsOf(evidence), work, calls, violations };
}

async function workUnderKills(
  { seed, round, kills, isOver, onKill }: RoundOptions,
  installation: Installation,
  collector: MarkCollector,
  evidence: Evidence,
): Promise<Record<string, number>> {
  const plan = new Plan(seed, round);
  const servers = installation;
  const context = { plan, servers, webhookUrl: installation.receiver.url, evidence };
  const work: Record<string, number> = {};
  let taken = 0;
  let items = 0;
  let killing = true;
  const client = async () => {
    while (killing) {
      const item = plan.item(items++);
      work[item.kind] = (work[item.kind] ?? 0) + 1;
      await perform(item, context);
    }
  };
  const clientOfJob = new PersistentClient(installation, plan.choices('interval'));
  const job = await startIntervalJob(clientOfJob);
  evidence.interval = job;
  const clients = Promise.all(Array.from({ length: CLIENTS }, client));
  await killInTurn({
    installation,
    plan,
    take: () => (taken < kills && !isOver() ? ++taken : undefined),
    onDisruption(disruption) {
      collector.collect();
      evidence.disruptions.push(disruption);
      onKill(disruption);
    },
  });
  killing = false;
  await clients;
  await deleteIntervalJob(clientOfJob, job);
  return work;
}

/** The receiver is here, so the checker cannot wait for it. What never comes is found by the checker. */
async function webhooksSent({ victims, apiKey }: Installation): Promise<void> {
  const api = new Api(victims[0]!.process.url, apiKey);
  await waitFor(
    'the messages to the receiver',
    async () => {
      const { body } = await api.get<{ webhooks: { pending: number } }>('/health/detailed');
      return body.webhooks.pending === 0;
    },
    SENT_LIMIT_MS,
  ).catch(() => {});
}

async function runChecker(path: string): Promise<Violation[]> {
  const { stdout } = await promisify(execFile)(process.execPath, [CHECKER, path], {
    timeout: CHECK_LIMIT_MS,
    maxBuffer: REPORT_BYTES,
  });
  return JSON.parse(stdout) as Violation[];
}

function endsOf({ runs }: Evidence): Record<string, number> {
  const ends: Record<string, number> = {};
  for (const { seen } of runs) {
    const end = /"event":"([\w.]+)"/.exec(seen.at(-1) ?? '')?.[1] ?? 'no end';
    ends[end] = (ends[end] ?? 0) + 1;
  }
  return ends;
}
