/** The frame around every page: the sections, how fresh the page is, and the sign-in where it is needed. */
import { waitingCount } from '../api/live/live.ts';
import { access, offeredKey } from '../api/session.ts';
import { overlay, show } from '../navigation/overlays.ts';
import { followLinks, place } from '../navigation/router.ts';
import { Boundary } from '../ui/boundary.tsx';
import { ConnectionIndicator } from './connection.tsx';
import { Help } from './help.tsx';
import { KeyOffer } from './key-offer.tsx';
import { NewRun } from './new-run.tsx';
import { pageOf, SECTIONS } from './pages.tsx';
import { Palette } from './palette.tsx';
import { Settings } from './settings.tsx';
import { SignIn } from './sign-in.tsx';
import './shell.css';

const IS_APPLE = /Mac|iP/.test(navigator.platform);

/** The icon of the page, drawn here: an image would be one more request. */
function Mark() {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="#1f3a5f" />
      <path d="M7 21c6 1 10-1 13-6l5-8c-1 8-4 14-10 17-3 1-6 0-8-3z" fill="#f2c14e" />
      <path
        d="M7 16c4 1 7 0 9-3M7 11c3 1 5 0 7-2"
        stroke="#f2c14e"
        stroke-width="2"
        fill="none"
        stroke-linecap="round"
      />
    </svg>
  );
}

export function App() {
  if (offeredKey.value !== undefined) return <KeyOffer />;
  if (access.value === 'refused') return <SignIn />;
  const current = place.value.path[0] ?? '';
  return (
    // Links stay links: this only keeps the page from being loaded again.
    // biome-ignore lint/a11y/noStaticElementInteractions lint/a11y/useKeyWithClickEvents: a link's click also comes from the keyboard
    <div class="app" onClick={followLinks}>
      <header class="bar">
        <a class="brand" href="./">
          <Mark />
          Talaria
        </a>
        <ConnectionIndicator />
        <nav aria-label="Sections">
          {SECTIONS.map(({ path, name }) => (
            <a key={path} href={`./${path}`} aria-current={path === current ? 'page' : undefined}>
              {name}
              {path === '' && waitingCount.value > 0 && (
                <>
                  {' '}
                  <span class="count">{waitingCount.value}</span>
                  <span class="visually-hidden"> waiting for you</span>
                </>
              )}
            </a>
          ))}
        </nav>
        <span class="spring" />
        <button type="button" class="find-button" onClick={() => show('palette')}>
          Find anything <kbd>{IS_APPLE ? '⌘K' : 'Ctrl K'}</kbd>
        </button>
        <button type="button" class="quiet" onClick={() => show('settings')}>
          Settings
        </button>
      </header>
      <Boundary at={place.value.path.join('/')}>{pageOf(place.value)}</Boundary>
      {overlay.value === 'new run' && <NewRun />}
      {overlay.value === 'settings' && <Settings />}
      {overlay.value === 'help' && <Help />}
      {overlay.value === 'palette' && <Palette />}
    </div>
  );
}
