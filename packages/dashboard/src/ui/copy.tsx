/** Copies a text, and says that it did. */
import { useSignal } from '@preact/signals';

interface CopyProps {
  text: () => string;
  /** What is copied, for the name of the button. */
  what: string;
  label?: string;
}

const SAID_MS = 1_500;

export function Copy({ text, what, label = 'Copy' }: CopyProps) {
  const said = useSignal('');
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text());
      said.value = 'Copied';
    } catch {
      // Browsers refuse this to pages without TLS, except to pages of this machine.
      said.value = 'Not allowed here';
    }
    setTimeout(() => {
      said.value = '';
    }, SAID_MS);
  };
  return (
    <button type="button" class="small quiet" title={`Copy ${what}`} onClick={() => void copy()}>
      <span aria-live="polite">{said.value || label}</span>
      <span class="visually-hidden"> {what}</span>
    </button>
  );
}
