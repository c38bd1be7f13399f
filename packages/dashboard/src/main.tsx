import { render } from 'preact';
import { startLive } from './api/live/live.ts';
import { App } from './shell/app.tsx';
import { listenToKeys } from './shell/keyboard.ts';
import { followTitle } from './shell/title.ts';
import './style.css';

startLive();
listenToKeys();
followTitle();
render(<App />, document.getElementById('app')!);
