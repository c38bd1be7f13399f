/** One session: its turns, the runs that are still at work in it, what they ask, and the next message. */
import type { Run } from '@talaria/client';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { heads, questions, refreshQuestions } from '../../api/live/live.ts';
import { useResource } from '../../api/resource.ts';
import { ApprovalCard } from '../../ui/approval/approval-card.tsx';
import { Loading } from '../../ui/loading.tsx';
import { LongText } from '../../ui/long-text.tsx';
import { Markdown } from '../../ui/markdown.tsx';
import { Status } from '../../ui/status.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { Composer } from './composer.tsx';
import { isOver, runsAfter } from './runs-after.ts';
import { ForkButton, SessionActions } from './session-actions.tsx';
import { type Turn, turnsOf } from './turns.ts';
import { useAnswer } from './use-answer.ts';

/** The newest messages; the others are in the runs, and in the API. */
const SHOWN = 200;

interface TalkProps {
  sessionId: string;
  /** The list of sessions may be another one now. */
  onChanged: () => void;
}

export function Talk({ sessionId, onChanged }: TalkProps) {
  const told = useResource(
    async (client, signal) => {
      const ended = new Set([...heads.peek().values()].filter(isOver).map(({ run_id }) => run_id));
      const query = { order: 'latest', limit: SHOWN } as const;
      const { data } = await client.sessions.messages(sessionId, query, { signal });
      return { messages: data.sort((a, b) => a.index - b.index), ended };
    },
    [sessionId],
  );
  const runs = [...heads.value.values()]
    .filter((run) => run.session_id === sessionId)
    .sort((a, b) => a.created_at - b.created_at);
  const active = runs.filter((run) => !isOver(run));
  const done = runs.length - active.length;
  useEffect(() => {
    if (done === 0) return;
    told.reload();
    onChanged();
  }, [done, told]);
  /** The runs that this page has seen at work. */
  const seen = useRef(new Set<string>()).current;
  for (const { run_id } of active) seen.add(run_id);
  const unfinished = runsAfter(told.state.value.data, runs, seen);
  const asked = questions.value.filter(({ approval }) => approval.run.session_id === sessionId);
  const earlier = told.state.value.data?.messages[0]?.index ?? 0;
  return (
    <section class="talk" aria-labelledby="talk">
      <div class="talk-head">
        <h2 id="talk">
          <a class="back" href="./chats" aria-label="All chats">
            ‹
          </a>
          <VisibleText text={sessionId} />
        </h2>
        <SessionActions sessionId={sessionId} onChanged={onChanged} />
      </div>
      {earlier > 0 && <p class="muted">{earlier} earlier messages are not shown.</p>}
      <Loading of={told}>
        {({ messages }) => <Turns turns={turnsOf(messages)} sessionId={sessionId} onChanged={onChanged} />}
      </Loading>
      <Unfinished runs={unfinished} />
      {asked.map(({ approval, settledAt }) => (
        <ApprovalCard
          key={approval.request_id}
          question={approval}
          run={approval.run}
          settled={settledAt !== undefined}
          onSettled={() => void refreshQuestions()}
        />
      ))}
      <Composer sessionId={sessionId} current={active[0]} />
    </section>
  );
}

function Turns({ turns, sessionId, onChanged }: TalkProps & { turns: readonly Turn[] }) {
  // A conversation is opened at its end.
  useLayoutEffect(() => scrollTo(0, document.documentElement.scrollHeight), []);
  return (
    <ol class="turns">
      {turns.map((turn) => (
        <li key={turn.runId}>
          <p class="asked">
            <span class="visually-hidden">You: </span>
            <LongText text={turn.asked} />
          </p>
          <div class="answered">
            <p class="muted">
              Agent · {turn.calls === 1 ? '1 call' : `${turn.calls} calls`} ·{' '}
              <a href={`./runs/${encodeURIComponent(turn.runId)}`}>run</a>{' '}
              <ForkButton sessionId={sessionId} onChanged={onChanged} messages={turn.end} />
            </p>
            <div class="text">
              <Markdown text={turn.answered} />
            </div>
          </div>
        </li>
      ))}
    </ol>
  );
}

function Unfinished({ runs }: { runs: readonly Run[] }) {
  return (
    <ol class="turns">
      {runs.map((run, index) => (
        <li key={run.run_id}>
          <p class="asked">
            <span class="visually-hidden">You: </span>
            <LongText text={run.input ?? run.run_id} />
          </p>
          <div class="answered">
            <p class="muted">
              Agent · <Status status={run.status} /> ·{' '}
              <a href={`./runs/${encodeURIComponent(run.run_id)}`}>run</a>
            </p>
            {index === 0 && <Answer runId={run.run_id} />}
          </div>
        </li>
      ))}
    </ol>
  );
}

function Answer({ runId }: { runId: string }) {
  const { text, tool } = useAnswer(runId).value;
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // Follows the text only for somebody who reads its end.
    const { scrollHeight } = document.documentElement;
    if (scrollHeight - innerHeight - scrollY < 200) end.current?.scrollIntoView({ block: 'end' });
  }, [text]);
  return (
    <>
      <div class="text">
        <Markdown text={text} unfinished />
      </div>
      {tool !== undefined && (
        <p class="muted">
          <code>
            <VisibleText text={tool} />
          </code>
        </p>
      )}
      <div ref={end} />
    </>
  );
}
