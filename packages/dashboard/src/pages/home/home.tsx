/** What needs the user, then the runs. */
import { useSignal } from '@preact/signals';
import { isTerminalStatus } from '@talaria/client';
import { show } from '../../navigation/overlays.ts';
import { place } from '../../navigation/router.ts';
import { Loading } from '../../ui/loading.tsx';
import { Problem } from '../../ui/problem.tsx';
import { BulkStop } from './bulk-stop.tsx';
import { FilterBar } from './filter-bar.tsx';
import { agentOf, filtersOf } from './filters.ts';
import { Inbox } from './inbox.tsx';
import { RunsTable } from './runs-table.tsx';
import { useRuns } from './use-runs.ts';
import './home.css';

function whyEmpty(filtered: boolean, isMore: boolean): string {
  if (isMore) return 'No newer run matches these filters. Older ones are not searched yet.';
  return filtered ? 'No run matches these filters.' : 'There is no run yet.';
}

export function Home() {
  const filters = filtersOf(place.value);
  const { first, rows: runs, more, moreError } = useRuns(filters);
  const chosen = useSignal<ReadonlySet<string>>(new Set());
  const stoppable = runs.filter((run) => chosen.value.has(run.run_id) && !isTerminalStatus(run.status));
  const choose = (runId: string, isChosen: boolean) => {
    const next = new Set(chosen.value);
    if (isChosen) next.add(runId);
    else next.delete(runId);
    chosen.value = next;
  };
  const filtered = Object.values(filters).some((value) => value !== undefined);
  const agents = [...new Set(runs.flatMap((run) => agentOf(run) ?? []))].sort();
  return (
    <main>
      <h1 class="visually-hidden">What needs you, and the runs</h1>
      <Inbox />
      <div class="page-head">
        <h2>Runs</h2>
        <button type="button" class="primary" onClick={() => show('new run')}>
          New run
        </button>
      </div>
      <FilterBar filters={filters} agents={agents} />
      <BulkStop
        runs={stoppable}
        onDone={() => {
          chosen.value = new Set();
        }}
      />
      <Loading of={first}>
        {() =>
          runs.length === 0 ? (
            <p class="empty">{whyEmpty(filtered, more !== undefined)}</p>
          ) : (
            <RunsTable runs={runs} chosen={chosen.value} onChoose={choose} />
          )
        }
      </Loading>
      {moreError !== undefined && <Problem error={moreError} retry={more} />}
      {more !== undefined && moreError === undefined && (
        <button type="button" class="more" onClick={more}>
          Older runs
        </button>
      )}
    </main>
  );
}
