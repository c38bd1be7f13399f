/** A tool call: what it was asked, how it went, and the beginning of its output. All of it is in the inspector. */
import { now } from '../../../ui/clock.ts';
import { TerminalOutput } from '../../../ui/terminal-output.tsx';
import { VisibleText } from '../../../ui/visible-text.tsx';
import { PatchDiff, patchOf } from '../patch-diff.tsx';
import { useRevision, useRunView } from '../run-view.ts';
import { seconds } from '../seconds.ts';
import type { ToolRow } from '../transcript/rows.ts';
import type { WatchedRun } from '../watch-run.ts';
import { EventLink } from './event-link.tsx';
import { Fold } from './fold.tsx';

export function Tool({ row }: { row: ToolRow }) {
  useRevision();
  const { inspectCall, callId, watched } = useRunView();
  const { started, completed, key, seq } = row;
  const { tool, preview, tool_call_id, client } = started;
  const patch = tool === 'patch' ? patchOf(started.arguments) : undefined;
  const inspected = callId.value === tool_call_id;
  const waits = completed === undefined && isAsked(watched, tool_call_id);
  return (
    <article class={`tool-card ${inspected ? 'inspected' : ''}`} aria-label={`Call of ${tool}`}>
      <div class="tool-line">
        <Fold
          name={key}
          openAtFirst={completed?.error === true || patch !== undefined}
          summary={
            <>
              <Sign completed={completed} waits={waits} /> <strong>{tool}</strong>{' '}
              <code class="preview">
                <VisibleText text={preview ?? ''} />
              </code>
              {client && <span class="tag">client tool</span>}
            </>
          }
        >
          {() => (
            <>
              {patch !== undefined && <PatchDiff patch={patch} />}
              {completed?.preview ? (
                <TerminalOutput text={completed.preview} />
              ) : (
                completed !== undefined && <p class="muted">It printed nothing.</p>
              )}
            </>
          )}
        </Fold>
        <span class="tool-facts">
          <Exit code={completed?.exit_code} />
          {!waits && <Time took={completed?.duration} since={row.at} />}
          <button
            type="button"
            class="small"
            aria-pressed={inspected}
            onClick={() => inspectCall(tool_call_id)}
          >
            Inspect<span class="visually-hidden"> {`${tool} ${seq}`}</span>
          </button>
          <EventLink seq={seq} />
        </span>
      </div>
    </article>
  );
}

/** Whether the call waits for a person: it is asked about, or comes after the one that is. */
function isAsked({ transcript, run }: WatchedRun, callId: string): boolean {
  const behind = run.value?.approvals_waiting ?? [];
  return [...transcript.value.pending.map(({ request }) => request), ...behind].some(
    ({ tool_call_id }) => tool_call_id === callId,
  );
}

function Sign({ completed, waits }: { completed: ToolRow['completed']; waits: boolean }) {
  if (waits) return <span class="warn">⚠ not yet allowed</span>;
  if (completed === undefined) return <span class="accent">● running</span>;
  return completed.error ? <span class="bad">✖ failed</span> : <span class="good">✔</span>;
}

function Exit({ code }: { code: number | undefined }) {
  if (code === undefined) return null;
  return <span class={code === 0 ? 'muted' : 'bad'}>exit {code}</span>;
}

function Time({ took, since }: { took: number | undefined; since: number }) {
  return <span class="muted">{seconds(took ?? Math.max(0, now.value - since))}</span>;
}
