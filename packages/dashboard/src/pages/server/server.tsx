/** How the server is: its parts, its queue, and what its runs used. */
import type { HealthDetailed, Run } from '@talaria/client';
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { useResource } from '../../api/resource.ts';
import { bytes, count, duration, money } from '../../ui/format.ts';
import { Loading } from '../../ui/loading.tsx';
import { Bars } from './bars.tsx';
import { type PeerServer, Peers } from './peers.tsx';
import { type Day, startOfDay, usageByDay } from './usage-by-day.ts';
import '../../ui/table.css';
import './server.css';

const LOOK_EVERY_MS = 5_000;
const DAYS = 14;

/** More runs than this are not counted, and the page says so. */
const COUNTED = 2_000;

/** Fields that only a Talaria server adds to the answer. */
interface Extras {
  queue?: {
    queued: number;
    leased: number;
    /** Servers of an earlier version send none. */
    waiting?: number;
    max_queued: number;
    max_concurrent: number;
  };
  mcp_servers?: readonly { name: string; status: string; reason?: string; tools: readonly string[] }[];
  uptime_seconds?: number;
  memory?: { rss_bytes: number };
}

type Check = HealthDetailed['readiness']['checks'][string] & {
  slots?: Record<string, number>;
  /** The servers that share the store. */
  servers?: readonly PeerServer[];
};

export function ServerPage() {
  const health = useResource((client, signal) => client.health.detailed({ signal }), []);
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden && !health.state.peek().loading) health.reload();
    }, LOOK_EVERY_MS);
    return () => clearInterval(timer);
  }, [health]);
  return (
    <main>
      <h1>Server</h1>
      <Loading of={health}>{(answer) => <Health health={answer} />}</Loading>
      <Used />
    </main>
  );
}

function Health({ health }: { health: HealthDetailed & Extras }) {
  const { version, role, gateway_state, queue, webhooks, readiness, uptime_seconds, memory } = health;
  const checks = Object.entries((readiness?.checks ?? {}) as Record<string, Check>);
  return (
    <>
      <dl class="facts">
        <Fact name="State" value={readiness?.status === 'ready' ? 'ready' : 'not ready'}>
          {gateway_state}
          {uptime_seconds !== undefined && `, for ${duration(uptime_seconds)}`}
        </Fact>
        {queue !== undefined && (
          <>
            <Fact name="Queued runs" value={queue.queued}>
              of at most {queue.max_queued}
            </Fact>
            <Fact name="Runs at work" value={queue.leased}>
              on all servers; at most {queue.max_concurrent} on this one
            </Fact>
            {queue.waiting !== undefined && (
              <Fact name="Waiting runs" value={queue.waiting}>
                for an answer, without a worker
              </Fact>
            )}
          </>
        )}
        {webhooks !== undefined && (
          <Fact name="Webhooks to deliver" value={webhooks.pending}>
            {webhooks.failed} given up this week
          </Fact>
        )}
        {memory !== undefined && <Fact name="Memory" value={bytes(memory.rss_bytes)} />}
        <Fact name="Version" value={version}>
          {role !== undefined && `role ${role}, `}
          {location.host}
        </Fact>
      </dl>
      <h2>Parts</h2>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Part</th>
            <th scope="col">State</th>
            <th scope="col">Detail</th>
          </tr>
        </thead>
        <tbody>
          {checks.map(([name, check]) => (
            <tr key={name}>
              <td>{name}</td>
              <td>
                <PartState state={check.status} />
              </td>
              <td>
                {check.detail}
                {check.slots !== undefined && <span class="muted"> Slots: {slotsOf(check.slots)}</span>}
              </td>
            </tr>
          ))}
          {(health.mcp_servers ?? []).map((server) => (
            <tr key={server.name}>
              <td>MCP: {server.name}</td>
              <td>
                <PartState state={server.status} />
              </td>
              <td>
                {server.reason}
                <span class="muted"> {server.tools.length} tools</span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <Peers servers={checks.flatMap(([, check]) => check.servers ?? [])} />
    </>
  );
}

function Fact({ name, value, children }: FactProps) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <span class="value">{value}</span>
        {children !== undefined && <span class="muted">{children}</span>}
      </dd>
    </div>
  );
}

interface FactProps {
  name: string;
  value: string | number | undefined;
  children?: ComponentChildren;
}

function PartState({ state }: { state: string }) {
  const good = state === 'ok' || state === 'connected' || state === 'ready';
  return <span class={good ? 'good' : state === 'failed' ? 'bad' : 'warn'}>{state}</span>;
}

function slotsOf(slots: Record<string, number>): string {
  return (
    Object.entries(slots)
      .filter(([, number]) => number > 0)
      .map(([state, number]) => `${number} ${state}`)
      .join(', ') || 'none'
  );
}

function Used() {
  const used = useResource(async (client, signal) => {
    const since = startOfDay(Date.now(), DAYS - 1) / 1000;
    const runs: Run[] = [];
    for await (const run of client.runs.list({ view: 'head', since, limit: 200 }, { signal })) {
      runs.push(run);
      if (runs.length >= COUNTED) break;
    }
    return { days: usageByDay(runs, DAYS, Date.now()), all: runs.length < COUNTED };
  }, []);
  return (
    <section aria-labelledby="used">
      <h2 id="used">Used in the last {DAYS} days</h2>
      <Loading of={used}>
        {({ days, all }) => (
          <>
            {!all && <p class="warn">Only the newest {COUNTED} runs are counted.</p>}
            <div class="charts">
              <Bars
                title="Tokens"
                total={count(sum(days, ({ tokens }) => tokens))}
                bars={days.map((day) => bar(day, day.tokens, count(day.tokens)))}
              />
              {days.some(({ cost }) => cost !== undefined) && (
                <Bars
                  title="Cost"
                  total={money(sum(days, ({ cost = 0 }) => cost))}
                  bars={days.map((day) => bar(day, day.cost ?? 0, money(day.cost ?? 0)))}
                />
              )}
            </div>
          </>
        )}
      </Loading>
    </section>
  );
}

const DAY = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });

function bar({ at, runs }: Day, value: number, label: string) {
  const day = `${new Date(at).getDate()}`;
  return { name: DAY.format(at), day, value, label: `${label}, ${runs === 1 ? '1 run' : `${runs} runs`}` };
}

function sum(days: readonly Day[], of: (day: Day) => number): number {
  return days.reduce((total, day) => total + of(day), 0);
}
