/** One entry of a conversation: what was asked, and what became of it. */
import type { Run } from '@talaria/client';
import type { ComponentChildren } from 'preact';
import { retryRun } from '../../api/start-run.ts';
import { LongText } from '../../ui/long-text.tsx';
import { Markdown } from '../../ui/markdown.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Status } from '../../ui/status.tsx';
import { useAction } from '../../ui/use-action.ts';
import { VisibleText } from '../../ui/visible-text.tsx';
import type { Turn } from './turns.ts';

/** `children` is what can be done with it. */
export function TurnEntry({ turn, children }: { turn: Turn; children: ComponentChildren }) {
  const { runId, asked, answered, calls } = turn;
  return (
    <li>
      <Asked text={asked} />
      <div class="answered">
        <p class="muted">
          Agent · {calls === 1 ? '1 call' : `${calls} calls`} · <RunLink runId={runId} /> {children}
        </p>
        <div class="text">
          <Markdown text={answered} />
        </div>
      </div>
    </li>
  );
}

/** A run that is not part of the transcript, or not yet. */
export function RunEntry({ run, children }: { run: Run; children: ComponentChildren }) {
  return (
    <li>
      <Asked text={run.input ?? run.run_id} />
      <div class="answered">
        <p class="muted">
          Agent · <Status status={run.status} /> · <RunLink runId={run.run_id} />
        </p>
        {children}
      </div>
    </li>
  );
}

/** Why there is no answer, and a way to ask again. */
export function Lost({ run }: { run: Run }) {
  const action = useAction();
  const { error, error_code, input } = run;
  return (
    <>
      {error !== undefined && (
        <div class="problem">
          <p>
            {error_code ?? 'error'}: <VisibleText text={error} />
          </p>
        </div>
      )}
      {input !== undefined && (
        <button
          type="button"
          class="small"
          title="Sends the same message again"
          disabled={action.busy.value}
          onClick={() => void action.run((client) => retryRun(client, run))}
        >
          Retry<span class="visually-hidden"> {input.split('\n')[0]}</span>
        </button>
      )}
      {action.error.value !== undefined && <Problem error={action.error.value} />}
    </>
  );
}

function Asked({ text }: { text: string }) {
  return (
    <p class="asked">
      <span class="visually-hidden">You: </span>
      <LongText text={text} />
    </p>
  );
}

function RunLink({ runId }: { runId: string }) {
  return <a href={`./runs/${encodeURIComponent(runId)}`}>run</a>;
}
