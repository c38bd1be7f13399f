/** Text of a person: the beginning of a long one, with a button for the rest. */
import { useSignal } from '@preact/signals';
import { VisibleText } from './visible-text.tsx';

const LINES = 12;

export function LongText({ text }: { text: string }) {
  const whole = useSignal(false);
  const lines = text.trim().split('\n');
  const more = lines.length - LINES;
  // A few lines take no more room than the button.
  if (whole.value || more < 3) return <VisibleText text={lines.join('\n')} />;
  return (
    <>
      <VisibleText text={lines.slice(0, LINES).join('\n')} />
      {'\n'}
      <button
        type="button"
        class="small"
        onClick={() => {
          whole.value = true;
        }}
      >
        {more} more lines
      </button>
    </>
  );
}
