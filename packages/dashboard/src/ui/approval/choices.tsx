/** The buttons of a question. `always` says what it will allow before it does, and a refusal may say why. */
import { useSignal } from '@preact/signals';
import type { ApprovalChoice } from '@talaria/client';
import { takeFocus } from '../take-focus.ts';

interface ChoicesProps {
  choices: readonly ApprovalChoice[];
  /** What `session` and `always` would allow. */
  patterns: readonly string[];
  /** Undefined for a run that was given none. */
  session: string | undefined;
  /** Buttons that just moved take no press. */
  dead: boolean;
  /** Whether the form for `always` is open, which the keyboard opens, too. */
  scope: boolean;
  onScope: (open: boolean) => void;
  onChoice: (choice: ApprovalChoice, message?: string) => void;
}

export function Choices({ choices, patterns, session, dead, scope, onScope, onChoice }: ChoicesProps) {
  const why = useSignal<string | undefined>(undefined);
  const has = (choice: ApprovalChoice) => choices.includes(choice);
  const inert = dead ? 'true' : undefined;
  if (scope) {
    return (
      <div class="scope">
        <p>
          <strong>Always</strong> means: no run of this API key is asked again about{' '}
          <em>{patterns.join(', ')}</em>, in any session, until you revoke it under Rules.
        </p>
        <div class="choices">
          <button type="button" aria-disabled={inert} onClick={() => onChoice('always')}>
            Allow always
          </button>
          <button type="button" onClick={() => onScope(false)}>
            Back
          </button>
        </div>
      </div>
    );
  }
  if (why.value !== undefined) {
    const submit = (event: Event) => {
      event.preventDefault();
      onChoice('deny', why.value?.trim());
    };
    return (
      <form class="why" onSubmit={submit}>
        <label>
          What should the agent know?
          <textarea
            rows={2}
            maxLength={2000}
            value={why.value}
            onInput={(event) => {
              why.value = event.currentTarget.value;
            }}
            ref={takeFocus}
          />
        </label>
        <div class="choices">
          <button type="submit" class="bad" aria-disabled={inert}>
            Deny with this message
          </button>
          <button
            type="button"
            onClick={() => {
              why.value = undefined;
            }}
          >
            Back
          </button>
        </div>
      </form>
    );
  }
  return (
    <div class="choices">
      {has('once') && (
        <button type="button" class="primary" aria-disabled={inert} onClick={() => onChoice('once')}>
          Once
          <span class="key" aria-hidden="true">
            o
          </span>
        </button>
      )}
      {has('session') && (
        <button
          type="button"
          aria-disabled={inert}
          title={`Allow ${patterns.join(', ')} in ${session === undefined ? 'this run' : `the session ${session}`}`}
          onClick={() => onChoice('session')}
        >
          This session
          <span class="key" aria-hidden="true">
            s
          </span>
        </button>
      )}
      {has('always') && (
        <button type="button" aria-disabled={inert} onClick={() => onScope(true)}>
          Always…
          <span class="key" aria-hidden="true">
            a
          </span>
        </button>
      )}
      {has('deny') && (
        <>
          <button type="button" class="bad" aria-disabled={inert} onClick={() => onChoice('deny')}>
            Deny
            <span class="key" aria-hidden="true">
              d
            </span>
          </button>
          <button
            type="button"
            class="quiet"
            onClick={() => {
              why.value = '';
            }}
          >
            Deny and say why
          </button>
        </>
      )}
    </div>
  );
}
