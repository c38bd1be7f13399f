/** The thread that makes screens of what terminals printed (screen-thread.ts). Each job has a terminal of its own. */
import { parentPort } from 'node:worker_threads';
import xterm from '@xterm/headless';
import type { ScreenJob } from './screen-thread.ts';

/** Lines that have scrolled away. */
const SCROLLBACK = 10_000;
/** Marks on a character that make sense; what repeats it would repeat each of them. */
const MAX_CHARACTER = 32;
const OTHER_SCREEN = '\x1b[?1049h';

parentPort?.on('message', ({ printed, columns, rows, alternate, entire }: ScreenJob) => {
  const terminal = new xterm.Terminal({
    cols: columns,
    rows,
    scrollback: SCROLLBACK,
    allowProposedApi: true,
  });
  // The emulator makes room for every repetition of a character (REP) at once: without a bound that is gigabytes.
  terminal.parser.registerCsiHandler({ final: 'b' }, ([times]) => {
    const { cursorX, cursorY, baseY } = terminal.buffer.active;
    const line = terminal.buffer.active.getLine(baseY + cursorY);
    const before = [1, 2].map((back) => line?.getCell(cursorX - back)?.getChars().length ?? 0);
    // True: the emulator does nothing.
    return Number(times) > columns || Math.max(...before) > MAX_CHARACTER;
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
