/** Theme, other servers, and the way out. */
import { useSignal } from '@preact/signals';
import { readKey } from '../api/key.ts';
import { signOut } from '../api/session.ts';
import { hide } from '../navigation/overlays.ts';
import { Dialog } from '../ui/dialog.tsx';
import { addServer, removeServer, servers } from './servers.ts';
import { type Theme, theme } from './theme.ts';

const THEMES: readonly [Theme, string][] = [
  ['system', 'As the system'],
  ['light', 'Light'],
  ['dark', 'Dark'],
];

export function Settings() {
  return (
    <Dialog title="Settings" onClose={hide}>
      <fieldset>
        <legend>Theme</legend>
        {THEMES.map(([value, name]) => (
          <label key={value} class="check">
            <input
              type="radio"
              name="theme"
              checked={theme.value === value}
              onChange={() => {
                theme.value = value;
              }}
            />
            {name}
          </label>
        ))}
      </fieldset>
      <Servers />
      {readKey() !== undefined && (
        <button
          type="button"
          onClick={() => {
            hide();
            signOut();
          }}
        >
          Sign out
        </button>
      )}
    </Dialog>
  );
}

function Servers() {
  const address = useSignal('');
  const wrong = useSignal(false);
  const add = (event: Event) => {
    event.preventDefault();
    wrong.value = !addServer(address.value.trim());
    if (!wrong.value) address.value = '';
  };
  return (
    <fieldset>
      <legend>Servers</legend>
      <ul class="servers">
        <li>
          <strong>{location.host}</strong> (this one)
        </li>
        {servers.value.map(({ name, url }) => (
          <li key={url}>
            <a href={url} rel="noreferrer">
              {name}
            </a>
            <button
              type="button"
              class="quiet"
              aria-label={`Remove ${name}`}
              onClick={() => removeServer(url)}
            >
              ✕
            </button>
          </li>
        ))}
      </ul>
      <form class="in-line" onSubmit={add}>
        <label>
          <span class="visually-hidden">Address of another server</span>
          <input
            placeholder="https://agents.example.com"
            value={address.value}
            onInput={(event) => {
              address.value = event.currentTarget.value;
            }}
          />
        </label>
        <button type="submit">Add</button>
      </form>
      {wrong.value && <p role="alert">This is not the address of another server.</p>}
      <p class="muted">Each server shows its own page, and asks for its own key.</p>
    </fieldset>
  );
}
