/** The runs as rows: a table on a desk, cards on a phone (by the stylesheet; the markup is one). */
import type { Run } from '@talaria/client';
import { isTerminalStatus } from '@talaria/client';
import { now } from '../../ui/clock.ts';
import { age, count, duration, moment, money } from '../../ui/format.ts';
import { Status } from '../../ui/status.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { agentOf } from './filters.ts';
import { Retry } from './retry.tsx';

interface RunsTableProps {
  runs: readonly Run[];
  chosen: ReadonlySet<string>;
  onChoose: (runId: string, chosen: boolean) => void;
}

export function RunsTable({ runs, chosen, onChoose }: RunsTableProps) {
  const withAgent = runs.some((run) => agentOf(run) !== undefined);
  const withCost = runs.some((run) => run.cost !== undefined);
  return (
    <table class="runs">
      <thead>
        <tr>
          <th scope="col">
            <span class="visually-hidden">Choose</span>
          </th>
          <th scope="col">State</th>
          <th scope="col">Run</th>
          {withAgent && <th scope="col">Agent</th>}
          <th scope="col" class="number">
            Step
          </th>
          <th scope="col" class="number">
            Tokens
          </th>
          {withCost && (
            <th scope="col" class="number">
              Cost
            </th>
          )}
          <th scope="col" class="number">
            Took
          </th>
          <th scope="col" class="number">
            Age
          </th>
        </tr>
      </thead>
      <tbody>
        {runs.map((run) => (
          <tr key={run.run_id} data-run={run.run_id} data-status={run.status}>
            <td class="choose">
              {!isTerminalStatus(run.status) && (
                <input
                  type="checkbox"
                  aria-label={`Choose ${titleOf(run)}`}
                  checked={chosen.has(run.run_id)}
                  onChange={(event) => onChoose(run.run_id, event.currentTarget.checked)}
                />
              )}
            </td>
            <td>
              <Status status={run.status} />
            </td>
            <td class="title">
              <div class="what">
                <div>
                  <div class="name">
                    <a href={`./runs/${encodeURIComponent(run.run_id)}`} data-item>
                      <VisibleText text={titleOf(run)} />
                    </a>
                    {run.job_id !== undefined && <span class="tag">job</span>}
                    {run.forked_from !== undefined && <span class="tag">fork</span>}
                    {run.evicted && (
                      <span class="tag" title="Its events, its files and its answer are deleted">
                        evicted
                      </span>
                    )}
                  </div>
                  {run.error !== undefined && (
                    <span class="detail" title={run.error}>
                      {run.error_code ?? 'error'}: <VisibleText text={run.error} />
                    </span>
                  )}
                </div>
                {run.status === 'failed' && run.input !== undefined && (
                  <Retry run={run} name={titleOf(run).split('\n')[0]!} />
                )}
              </div>
            </td>
            {withAgent && <td data-name="agent">{agentOf(run)}</td>}
            <td class="number" data-name="step">
              {run.steps}
            </td>
            <td class="number" data-name="tokens">
              {tokensOf(run)}
            </td>
            {withCost && (
              <td class="number" data-name="cost">
                {run.cost === undefined ? '' : money(run.cost)}
              </td>
            )}
            <td class="number" data-name="took">
              <Took run={run} />
            </td>
            <td class="number" data-name="age">
              <Age at={run.created_at} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Took({ run }: { run: Run }) {
  const end = isTerminalStatus(run.status) ? run.updated_at : now.value;
  return <>{duration(end - run.created_at)}</>;
}

function Age({ at }: { at: number }) {
  return (
    <time dateTime={new Date(at * 1000).toISOString()} title={moment(at)}>
      {age(now.value - at)}
    </time>
  );
}

function titleOf(run: Run): string {
  return run.input?.trim() || run.run_id;
}

function tokensOf(run: Run): string {
  const total = (run.usage ?? run.usage_so_far)?.total_tokens;
  return total === undefined ? '' : count(total);
}
