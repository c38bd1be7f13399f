/** The questions that come after this one, and a way to answer all of them alike: never without showing them. */
import type { Signal } from '@preact/signals';
import { VisibleText } from '../visible-text.tsx';
import type { Queued } from './question.ts';

export function Behind({ questions, all }: { questions: readonly Queued[]; all: Signal<boolean> }) {
  if (questions.length === 0) return null;
  return (
    <div class="behind">
      <p>
        {questions.length === 1 ? 'One more waits behind it:' : `${questions.length} more wait behind it:`}
      </p>
      {questions.map(({ request_id, command, description }) => (
        <div key={request_id}>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long command scrolls, also by the keyboard */}
          <pre class="command" tabIndex={0}>
            <VisibleText text={command} />
          </pre>
          <p class="reason">{description}</p>
        </div>
      ))}
      <label class="check">
        <input
          type="checkbox"
          checked={all}
          onChange={({ currentTarget }) => {
            all.value = currentTarget.checked;
          }}
        />
        Answer all {questions.length + 1} alike
      </label>
    </div>
  );
}
