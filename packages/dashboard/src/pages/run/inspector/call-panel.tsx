/** One tool call in full: what it was given, what it returned, who allowed it. */
import { useSignal } from '@preact/signals';
import type { RunCall } from '@talaria/client';
import { useEffect } from 'preact/hooks';
import { useResource } from '../../../api/resource.ts';
import { outcomeOf } from '../../../ui/approval/question.ts';
import { CodeBlock } from '../../../ui/code.tsx';
import { Copy } from '../../../ui/copy.tsx';
import { moment } from '../../../ui/format.ts';
import { Loading } from '../../../ui/loading.tsx';
import { VisibleText } from '../../../ui/visible-text.tsx';
import { PatchDiff, patchOf } from '../patch-diff.tsx';
import { useRunView } from '../run-view.ts';
import { saveText } from '../save.ts';
import { seconds } from '../seconds.ts';
import { CallOutput } from './call-output.tsx';
import { StepChanges } from './step-changes.tsx';

export function CallPanel() {
  const { callId } = useRunView();
  const id = callId.value;
  if (id === undefined) return <p class="empty">Choose “Inspect” at a tool call to see all of it.</p>;
  return <Call key={id} id={id} />;
}

function Call({ id }: { id: string }) {
  const { runId, watched } = useRunView();
  const call = useResource((client, signal) => client.runs.calls.get(runId, id, { signal }), [runId, id]);
  watched.revision.value;
  const completed = watched.transcript.value.callRow(id)?.completed !== undefined;
  // A call that was loaded while it ran has no output yet.
  useEffect(() => {
    const { data } = call.state.peek();
    if (completed && data !== undefined && data.completed_at === null) call.reload();
  }, [completed, call.state.value.data]);
  return (
    <>
      <Loading of={call}>{(data) => <CallFacts call={data} />}</Loading>
      <StepChanges callId={id} />
    </>
  );
}

function CallFacts({ call }: { call: RunCall }) {
  const raw = useSignal(false);
  const { tool, exit_code, started_at, completed_at, error, output, approval } = call;
  const args = typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments, null, 2);
  const command = commandOf(call.arguments);
  const patch = tool === 'patch' ? patchOf(call.arguments) : undefined;
  return (
    <>
      <p class="panel-facts">
        <strong>{tool}</strong>
        {exit_code !== undefined && <span class={exit_code === 0 ? 'muted' : 'bad'}>exit {exit_code}</span>}
        {error === true && <span class="bad">failed</span>}
        {completed_at === null ? (
          <span class="accent">running since {moment(started_at)}</span>
        ) : (
          <span class="muted">{seconds(completed_at - started_at)}</span>
        )}
      </p>
      {approval !== undefined && <Allowed approval={approval} />}
      <p class="panel-actions">
        <Copy text={() => command ?? args} what={command === undefined ? 'the arguments' : 'the command'} />
        <label>
          <input
            type="checkbox"
            checked={raw}
            onChange={({ currentTarget }) => {
              raw.value = currentTarget.checked;
            }}
          />{' '}
          All arguments
        </label>
      </p>
      {command !== undefined && !raw.value ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a long command scrolls, also by the keyboard
        <pre class="output wrap" tabIndex={0} dir="ltr">
          $ <VisibleText text={command} />
        </pre>
      ) : patch !== undefined && !raw.value ? (
        <PatchDiff patch={patch} />
      ) : (
        <CodeBlock text={args} language="json" />
      )}
      {output !== null && <CallOutput output={output} save={() => saveText(`${tool}-output.txt`, output)} />}
    </>
  );
}

function Allowed({ approval }: { approval: NonNullable<RunCall['approval']> }) {
  const { choice, answered_at, pattern_key, message } = approval;
  return (
    <p class="note">
      ⚠ {pattern_key}:{' '}
      {choice === undefined
        ? 'waits for an answer'
        : [outcomeOf(approval), answered_at && moment(answered_at)].filter(Boolean).join(', ')}
      {message !== undefined && (
        <>
          : “<VisibleText text={message} />”
        </>
      )}
    </p>
  );
}

function commandOf(args: unknown): string | undefined {
  if (typeof args !== 'object' || args === null) return undefined;
  const { command } = args as { command?: unknown };
  return typeof command === 'string' ? command : undefined;
}
