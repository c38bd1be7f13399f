/** The thread that makes screens of what terminals printed (screen-thread.ts). Each job has a terminal of its own. */
import { parentPort } from 'node:worker_threads';
import xterm from '@xterm/headless';
import type { ScreenJob } from './screen-thread.ts';

/** Lines that have scrolled away. */
const SCROLLBACK = 10_000;
const OTHER_SCREEN = '\x1b[?1049h';

parentPort?.on('message', ({ printed, columns, rows, alternate, entire }: ScreenJob) => {
  const terminal = new xterm.Terminal({
    cols: columns,
    rows,
    scrollback: SCROLLBACK,
    allowProposedApi: true,
  });
  terminal.write((alternate ? OTHER_SCREEN : '') + printed, () => {
    const { active } = terminal.buffer;
    const lines: string[] = [];
    for (let y = entire ? 0 : active.baseY; y < active.length; y++)
      lines.push(active.getLine(y)?.translateToString(true).trimEnd() ?? '');
    while (lines.length > 0 && lines.at(-1) === '') lines.pop();
    terminal.dispose();
    parentPort?.postMessage(lines.map((line) => `${line}\n`).join(''));
  });
});
