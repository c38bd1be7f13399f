/**
 * One question to a person: the whole command, why it is asked, how long it waits, and the answers. The home page, the
 * run page and the approve page show the same card.
 *
 * - An answer goes to this question only, by its `request_id`; to those behind it only on request, and in sight of them.
 * - Buttons take no press until the card has stayed in its place for a moment (use-steady.ts).
 * - Answered elsewhere or out of time, it says so instead of failing.
 */
import { useSignal } from '@preact/signals';
import type { ApprovalChoice } from '@talaria/client';
import { useRef } from 'preact/hooks';
import { now } from '../clock.ts';
import { Problem } from '../problem.tsx';
import { VisibleText } from '../visible-text.tsx';
import { answer, type Sent } from './answer.ts';
import { Behind } from './behind.tsx';
import { Choices } from './choices.tsx';
import { type CardQuestion, type CardRun, outcomeOf, questionsBehind, sessionOf } from './question.ts';
import { TimeLeft } from './time-left.tsx';
import { useSteady } from './use-steady.ts';
import './approval.css';

export interface ApprovalCardProps {
  question: CardQuestion;
  run: CardRun;
  /** It waits no longer, whether or not it is known who answered. */
  settled?: boolean | undefined;
  /** Whether the card names its run; not on the page of the run itself. */
  showRun?: boolean;
  /** After an answer was sent, or turned out to be late. */
  onSettled?: (sent: Sent) => void;
}

const KEYS: Record<string, ApprovalChoice> = { o: 'once', s: 'session', a: 'always', d: 'deny' };

export function ApprovalCard({
  question,
  run,
  settled = false,
  showRun = true,
  onSettled,
}: ApprovalCardProps) {
  const card = useRef<HTMLElement>(null);
  const { steady, isSteady } = useSteady(card);
  const sent = useSignal<Sent | 'sending' | undefined>(undefined);
  const scope = useSignal(false);
  const all = useSignal(false);
  const behind = questionsBehind(question, run);
  const { request_id, command, pattern_key, pattern_keys, description, expires_at } = question;
  const answersAll = all.value && behind.length > 0;
  const answered = answersAll ? [question, ...behind] : [question];
  const choices = question.choices.filter((choice) => answered.every((one) => one.choices.includes(choice)));

  const choose = async (choice: ApprovalChoice, message?: string) => {
    if (sent.value === 'sending' || !isSteady()) return;
    sent.value = 'sending';
    sent.value = await answer(run.run_id, request_id, { choice, message, all: answersAll });
    if (sent.value.kind !== 'failed') onSettled?.(sent.value);
  };
  const press = (event: KeyboardEvent) => {
    const choice = KEYS[event.key];
    const writing = event.target instanceof Element && event.target.matches('input, textarea, select');
    if (choice === undefined || writing || event.metaKey || event.ctrlKey || event.altKey) return;
    if (!choices.includes(choice) || !open) return;
    event.preventDefault();
    if (choice === 'always' && !scope.value) scope.value = true;
    else void choose(choice);
  };

  const outcome = sent.value !== undefined && sent.value !== 'sending' ? sent.value : undefined;
  const late = settled || question.choice !== undefined || outcome?.kind === 'late';
  const expired = expires_at !== undefined && expires_at <= now.value;
  const open = !late && !expired && outcome?.kind !== 'answered' && outcome?.kind !== 'gone';
  const heading = `approval-${request_id}`;
  const session = sessionOf(run);
  return (
    <article
      class={`approval ${open ? 'open' : 'settled'}`}
      aria-labelledby={heading}
      ref={card}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: j and k move from card to card, and o s a d answer the focused one
      tabIndex={0}
      data-item
      data-request={request_id}
      onKeyDown={press}
    >
      <header>
        <h3 id={heading}>
          <span aria-hidden="true">⚠ </span>
          <VisibleText text={pattern_key} />
        </h3>
        {open && expires_at !== undefined && <TimeLeft until={expires_at} />}
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long command scrolls, also by the keyboard */}
      <pre class="command" tabIndex={0}>
        <VisibleText text={command} />
      </pre>
      <p class="reason">
        {description !== pattern_key && description}
        {pattern_keys.length > 1 && (
          <> Also: {pattern_keys.filter((key) => key !== pattern_key).join(', ')}.</>
        )}
      </p>
      {showRun && (
        <p class="asker muted">
          <a href={`./runs/${encodeURIComponent(run.run_id)}`}>
            <VisibleText text={run.input || run.run_id} />
          </a>
          {run.steps !== undefined && <> · step {run.steps}</>}
          {session !== undefined && <> · session {session}</>}
        </p>
      )}
      {outcome?.kind === 'failed' && <Problem error={outcome.error} />}
      {open && <Behind questions={behind} all={all} />}
      {open && (
        <Choices
          choices={choices}
          patterns={[...new Set(answered.flatMap((one) => one.pattern_keys))]}
          session={session}
          dead={!steady.value || sent.value === 'sending'}
          scope={scope.value}
          onScope={(shown) => {
            scope.value = shown;
          }}
          onChoice={(choice, message) => void choose(choice, message)}
        />
      )}
      <p class="outcome" role="status">
        {!open && <Outcome question={question} sent={outcome} expired={expired && !late} />}
      </p>
    </article>
  );
}

interface OutcomeProps {
  question: CardQuestion;
  sent: Sent | undefined;
  expired: boolean;
}

function Outcome({ question, sent, expired }: OutcomeProps) {
  if (sent?.kind === 'answered') {
    return (
      <>
        {outcomeOf({ ...question, choice: sent.choice, answered_by: 'you' })}
        {sent.resolved > 1 && `, for all ${sent.resolved}`}
        <Why message={sent.message} />
      </>
    );
  }
  if (sent?.kind === 'gone') return <>The run is gone: there is nothing left to answer.</>;
  if (expired) return <>Its time is over: it counts as denied.</>;
  return (
    <>
      {sent?.kind === 'late' && 'Somebody was quicker. '}
      {outcomeOf(question)}
      <Why message={question.message} />
    </>
  );
}

function Why({ message }: { message: string | undefined }) {
  if (message === undefined) return null;
  return (
    <>
      : “<VisibleText text={message} />”
    </>
  );
}
