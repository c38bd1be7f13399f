/** The grants, which can be revoked here, and the decisions so far. */
import { useSignal } from '@preact/signals';
import type { Approval, Grant } from '@talaria/client';
import { useResource } from '../../api/resource.ts';
import { outcomeOf } from '../../ui/approval/question.ts';
import { moment } from '../../ui/format.ts';
import { Loading } from '../../ui/loading.tsx';
import { Problem } from '../../ui/problem.tsx';
import { useAction } from '../../ui/use-action.ts';
import { VisibleText } from '../../ui/visible-text.tsx';
import '../../ui/table.css';

const PAGE = 50;

export function RulesPage() {
  return (
    <main>
      <h1>Rules</h1>
      <Grants />
      <History />
    </main>
  );
}

function Grants() {
  const grants = useResource(async (client, signal) => {
    const all: Grant[] = [];
    for await (const grant of client.grants.list({ limit: 200 }, { signal })) all.push(grant);
    return all;
  }, []);
  const action = useAction();
  const revoke = async (grant: Grant) => {
    await action.run((client) => client.grants.revoke(grant.id));
    grants.reload();
  };
  return (
    <section aria-labelledby="grants">
      <h2 id="grants">Allowed without a question</h2>
      {action.error.value !== undefined && <Problem error={action.error.value} />}
      <Loading of={grants}>
        {(all) =>
          all.length === 0 ? (
            <p class="empty">Nothing: every gated command asks.</p>
          ) : (
            <table class="table">
              <thead>
                <tr>
                  <th scope="col">What</th>
                  <th scope="col">Where</th>
                  <th scope="col">Since</th>
                  <th scope="col">Last used</th>
                  <th scope="col">
                    <span class="visually-hidden">Revoke</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {all.map((grant) => (
                  <tr key={grant.id}>
                    <td>
                      <VisibleText text={grant.pattern_key} />
                    </td>
                    <td data-name="where">
                      {grant.scope === 'always' ? 'every session of this key' : `session ${grant.session_id}`}
                    </td>
                    <td data-name="since">
                      {moment(grant.created_at)}, by the key {grant.created_by}
                    </td>
                    <td data-name="last used">
                      {grant.last_used_at === null ? 'never' : moment(grant.last_used_at)}
                    </td>
                    <td class="act">
                      <button
                        type="button"
                        class="small"
                        aria-label={`Revoke ${grant.pattern_key}`}
                        disabled={action.busy.value}
                        onClick={() => void revoke(grant)}
                      >
                        Revoke
                      </button>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }
      </Loading>
    </section>
  );
}

function History() {
  const limit = useSignal(PAGE);
  const answered = useResource(
    async (client, signal) => {
      const data: Approval[] = [];
      for await (const approval of client.approvals.list({ status: 'answered', limit: PAGE }, { signal })) {
        data.push(approval);
        if (data.length >= limit.value) return { data, more: true };
      }
      return { data, more: false };
    },
    [limit.value],
  );
  return (
    <section aria-labelledby="history">
      <h2 id="history">Decisions</h2>
      <Loading of={answered}>
        {({ data, more }) => (
          <>
            {data.length === 0 ? <p class="empty">Nothing was decided yet.</p> : <Decisions decided={data} />}
            {more && (
              <button
                type="button"
                onClick={() => {
                  limit.value += PAGE;
                }}
              >
                Older decisions
              </button>
            )}
          </>
        )}
      </Loading>
    </section>
  );
}

function Decisions({ decided }: { decided: readonly Approval[] }) {
  return (
    <table class="table">
      <thead>
        <tr>
          <th scope="col">When</th>
          <th scope="col">Command</th>
          <th scope="col">Decision</th>
          <th scope="col">Run</th>
        </tr>
      </thead>
      <tbody>
        {decided.map((approval) => (
          <tr key={approval.request_id}>
            <td class="time">{approval.answered_at !== undefined && moment(approval.answered_at)}</td>
            <td>
              <code>
                <VisibleText text={approval.command} />
              </code>
              <br />
              <span class="muted">
                <VisibleText text={approval.pattern_key} />
              </span>
            </td>
            <td data-name="decision">
              {outcomeOf(approval)}
              {approval.message !== undefined && (
                <>
                  : “<VisibleText text={approval.message} />”
                </>
              )}
            </td>
            <td data-name="run">
              <a href={`./runs/${encodeURIComponent(approval.run.run_id)}`}>
                <VisibleText text={approval.run.input || approval.run.run_id} />
              </a>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
