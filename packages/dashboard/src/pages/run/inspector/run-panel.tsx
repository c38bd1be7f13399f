/** The run as the server tells it. */
import { Code } from '../../../ui/code.tsx';
import { Copy } from '../../../ui/copy.tsx';
import { useRunView } from '../run-view.ts';

export function RunPanel() {
  const { runId, watched } = useRunView();
  const text = JSON.stringify(watched.run.value ?? {}, null, 2);
  return (
    <>
      <p class="panel-actions">
        <Copy text={() => runId} what="the id of the run" label="Copy id" />
        <Copy text={() => text} what="this JSON" label="Copy JSON" />
      </p>
      <Code text={text} language="json" />
    </>
  );
}
