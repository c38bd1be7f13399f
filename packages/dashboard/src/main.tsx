import { render } from 'preact';
import { startLive } from './api/live/live.ts';
import { App } from './shell/app.tsx';
import { listenToKeys } from './shell/keyboard.ts';
import './style.css';

startLive();
listenToKeys();
render(<App />, document.getElementById('app')!);
