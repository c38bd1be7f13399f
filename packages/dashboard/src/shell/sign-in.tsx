/** Asks for the key, where the server wants one. */
import { useSignal } from '@preact/signals';
import { readKey } from '../api/key.ts';
import { signIn } from '../api/session.ts';

export function SignIn() {
  const key = useSignal('');
  const remember = useSignal(false);
  const submit = (event: Event) => {
    event.preventDefault();
    const given = key.value.trim();
    if (given !== '') signIn(given, remember.value);
  };
  return (
    <main class="sign-in">
      <h1>Talaria</h1>
      {readKey() !== undefined && (
        <p class="problem" role="alert">
          The server does not accept this key. It may be wrong, or no longer valid.
        </p>
      )}
      <form onSubmit={submit}>
        <label>
          API key
          <input
            type="password"
            autocomplete="current-password"
            value={key}
            onInput={(event) => {
              key.value = event.currentTarget.value;
            }}
          />
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={remember}
            onChange={(event) => {
              remember.value = event.currentTarget.checked;
            }}
          />
          Remember it in this browser
        </label>
        <button type="submit" class="primary">
          Sign in
        </button>
      </form>
      <p class="muted">
        On the server's machine, <code>talaria ui</code> opens this page with the key.
      </p>
    </main>
  );
}
