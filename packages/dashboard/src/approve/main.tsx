import { render } from 'preact';
import { Approve } from './approve.tsx';
import '../style.css';

render(<Approve />, document.getElementById('app')!);
