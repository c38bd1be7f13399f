/** What is left of an evicted run: lists keep it for a while after its events, its files and its answer are deleted. */
import type { Run } from '@talaria/client';
import { moment } from '../../ui/format.ts';
import { LongText } from '../../ui/long-text.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';

/** Instead of the transcript. */
export function Gone({ run }: { run: Run }) {
  const { input, error, error_code, session_id, run_id, updated_at, evicted_for } = run;
  return (
    <div class="gone">
      <p class="note">
        The server has deleted the events, the files and the answer of this run
        {evicted_for === 'room' && ', because finished runs took too much of its disk'}. It ended{' '}
        {moment(updated_at)}. Lists still show what is here.
      </p>
      {input !== undefined && (
        <p class="asked" dir="auto">
          <span class="visually-hidden">You: </span>
          <LongText text={input} />
        </p>
      )}
      {error !== undefined && (
        <div class="problem">
          <p>
            ✖ The run failed: <VisibleText text={error} /> {error_code && <code>{error_code}</code>}
          </p>
        </div>
      )}
      {session_id !== run_id && (
        <p>
          <a href={`./chats/${encodeURIComponent(session_id)}`}>What was said in its session</a>
        </p>
      )}
    </div>
  );
}

/** Above a transcript that was read before. */
export function GoneMeanwhile() {
  return (
    <p class="note gone-meanwhile" role="status">
      The server has deleted the events and the files of this run. What this page has read of them is here
      until you leave it.
    </p>
  );
}
