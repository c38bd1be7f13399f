/** One session: its turns, the runs that are still at work in it, what they ask, and the next message. */
import { isTerminalStatus } from '@talaria/client';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { questions, refreshQuestions } from '../../api/live/live.ts';
import { ApprovalCard } from '../../ui/approval/approval-card.tsx';
import { Loading } from '../../ui/loading.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { Answer } from './answer.tsx';
import { Composer } from './composer.tsx';
import { type Entry, entriesOf } from './entries.ts';
import { Lost, RunEntry, TurnEntry } from './entry-views.tsx';
import { runsAfter } from './runs-after.ts';
import { ForkButton, SessionActions } from './session-actions.tsx';
import { turnsOf } from './turns.ts';
import { useSession } from './use-session.ts';

interface TalkProps {
  sessionId: string;
  /** The list of sessions may be another one now. */
  onChanged: () => void;
}

export function Talk({ sessionId, onChanged }: TalkProps) {
  const { told, runs } = useSession(sessionId, onChanged);
  const active = runs.filter((run) => !isTerminalStatus(run.status));
  /** The runs that this page has seen at work. */
  const seen = useRef(new Set<string>()).current;
  for (const { run_id } of active) seen.add(run_id);
  const after = runsAfter(told.state.value.data, runs, seen);
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
        {({ messages }) => (
          <Entries
            entries={entriesOf({ turns: turnsOf(messages), runs, isCut: earlier > 0 })}
            sessionId={sessionId}
            onChanged={onChanged}
          />
        )}
      </Loading>
      <ol class="turns">
        {after.map((run, index) => (
          <RunEntry key={run.run_id} run={run}>
            {index === 0 && <Answer runId={run.run_id} />}
          </RunEntry>
        ))}
      </ol>
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

function Entries({ entries, sessionId, onChanged }: TalkProps & { entries: readonly Entry[] }) {
  // A conversation is opened at its end.
  useLayoutEffect(() => scrollTo(0, document.documentElement.scrollHeight), []);
  return (
    <ol class="turns">
      {entries.map((entry) =>
        entry.kind === 'lost' ? (
          <RunEntry key={entry.run.run_id} run={entry.run}>
            <Lost run={entry.run} />
          </RunEntry>
        ) : (
          <TurnEntry key={entry.turn.runId} turn={entry.turn}>
            <ForkButton sessionId={sessionId} onChanged={onChanged} messages={entry.turn.end} />
          </TurnEntry>
        ),
      )}
    </ol>
  );
}
