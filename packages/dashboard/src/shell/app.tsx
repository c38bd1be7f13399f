/** The frame around every page: the sections, how fresh the page is, and the sign-in where it is needed. */
import { waitingCount } from '../api/live/live.ts';
import { access } from '../api/session.ts';
import { ConnectionIndicator } from './connection.tsx';
import { Help } from './help.tsx';
import { NewRun } from './new-run.tsx';
import { overlay, show } from './overlays.ts';
import { pageOf, SECTIONS } from './pages.tsx';
import { Palette } from './palette.tsx';
import { followLinks, place } from './router.ts';
import { Settings } from './settings.tsx';
import { SignIn } from './sign-in.tsx';

const IS_APPLE = /Mac|iP/.test(navigator.platform);

export function App() {
  if (access.value === 'refused') return <SignIn />;
  const current = place.value.path[0] ?? '';
  return (
    // Links stay links: this only keeps the page from being loaded again.
    // biome-ignore lint/a11y/noStaticElementInteractions lint/a11y/useKeyWithClickEvents: a link's click also comes from the keyboard
    <div class="app" onClick={followLinks}>
      <header class="bar">
        <a class="brand" href="./">
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
        <button type="button" class="quiet" onClick={() => show('palette')}>
          <kbd>{IS_APPLE ? '⌘K' : 'Ctrl K'}</kbd>
          <span class="visually-hidden find"> Find anything</span>
        </button>
        <button type="button" class="quiet" onClick={() => show('settings')}>
          Settings
        </button>
      </header>
      {pageOf(place.value)}
      {overlay.value === 'new run' && <NewRun />}
      {overlay.value === 'settings' && <Settings />}
      {overlay.value === 'help' && <Help />}
      {overlay.value === 'palette' && <Palette />}
    </div>
  );
}
