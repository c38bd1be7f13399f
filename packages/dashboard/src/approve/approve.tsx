/** One question, for somebody who was called to it: on a phone, in a hurry, perhaps too late. */
import { useEffect } from 'preact/hooks';
import { UI_ROOT } from '../api/place.ts';
import { useResource } from '../api/resource.ts';
import { access, offeredKey } from '../api/session.ts';
import { KeyOffer } from '../shell/key-offer.tsx';
import { SignIn } from '../shell/sign-in.tsx';
import { ApprovalCard } from '../ui/approval/approval-card.tsx';
import { Loading } from '../ui/loading.tsx';
import { statusName } from '../ui/status.tsx';
import { findQuestion } from './find-question.ts';

const LOOK_EVERY_MS = 3_000;

export function Approve() {
  if (offeredKey.value !== undefined) return <KeyOffer />;
  if (access.value === 'refused') return <SignIn />;
  const [, runId = '', requestId = ''] = location.pathname
    .slice(UI_ROOT.pathname.length)
    .split('/')
    .map(decodeURIComponent);
  return <Question runId={runId} requestId={requestId} />;
}

function Question({ runId, requestId }: { runId: string; requestId: string }) {
  const found = useResource(
    (client, signal) => findQuestion(client, runId, requestId, signal),
    [runId, requestId],
  );
  useEffect(() => {
    const look = () => {
      const { data, loading } = found.state.peek();
      const waits = data === undefined || (data.kind === 'question' && !data.settled);
      if (waits && !loading && !document.hidden) found.reload();
    };
    const timer = setInterval(look, LOOK_EVERY_MS);
    document.addEventListener('visibilitychange', look);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', look);
    };
  }, [found]);
  return (
    <main class="approve">
      <h1>Talaria</h1>
      <h2>May it do this?</h2>
      <Loading of={found}>
        {(data) => {
          if (data.kind === 'run gone')
            return <p>This run is gone: the server has deleted it, or it belongs to another key.</p>;
          if (data.kind === 'over')
            return (
              <p>This question no longer waits for an answer. The run is {statusName(data.run.status)}.</p>
            );
          const { question, run, settled } = data;
          return <ApprovalCard question={question} run={run} settled={settled} onSettled={found.reload} />;
        }}
      </Loading>
      <p>
        <a href="./">All runs</a>
      </p>
    </main>
  );
}
