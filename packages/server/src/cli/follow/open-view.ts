/**
 * The view for the place where the command runs: JSON for programs; otherwise text on the terminal if there is one
 * (stdout before stderr), and lines on stderr if there is none.
 */
import { ApprovalPrompt } from '../screen/approval-prompt.ts';
import { openKeyboard } from '../screen/keyboard.ts';
import { LiveScreen } from '../screen/live-screen.ts';
import { PlainScreen } from '../screen/plain-screen.ts';
import type { Terminal } from '../terminal.ts';
import { JsonView } from './json-view.ts';
import type { RunView } from './run-view.ts';
import { TextView } from './text-view.ts';

export interface ViewOptions {
  readonly json: boolean;
  readonly quiet: boolean;
  readonly verbose: boolean;
}

export function openView({ json, quiet, verbose }: ViewOptions, terminal: Terminal): RunView {
  if (json) return new JsonView(terminal);
  const { stdout, stderr } = terminal;
  const output = stdout.isTerminal ? stdout : stderr;
  const screen = output.canRedraw ? new LiveScreen(output) : new PlainScreen(output);
  const { style } = output;
  const keyboard = openKeyboard(terminal);
  return new TextView({
    screen,
    style,
    answer: stdout.isTerminal && !quiet ? undefined : stdout,
    quiet,
    verbose,
    prompt: keyboard === undefined ? undefined : new ApprovalPrompt(screen, keyboard, style),
  });
}
