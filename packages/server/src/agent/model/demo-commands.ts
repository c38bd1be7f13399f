/**
 * Finds the commands in a prompt for the demo model, in order.
 *
 * - An inline code span is one command: run `ls -l`.
 * - A fenced block of a shell (or of no named language) is one command, run as a whole; in a block that shows a
 *   session, the lines after `$ ` are the commands and the others are their output. Blocks in other languages are
 *   not for the shell.
 */
const FENCE = '(?<fence>`{3,}|~{3,})(?<language>[^\\n`]*)\\n(?<block>[\\s\\S]*?)\\n?[ \\t]*\\k<fence>';
const SPAN = '(?<!`)(?<ticks>`+)(?!`)(?<span>[^\\n]+?)(?<!`)\\k<ticks>(?!`)';
const CODE = new RegExp(`${FENCE}|${SPAN}`, 'g');

/** The search for the end of a code span takes quadratic time at worst; a prompt may have megabytes. */
const MAX_PROMPT_CHARS = 10_000;

const SHELLS = new Set(['', 'sh', 'bash', 'shell', 'zsh', 'console', 'shell-session', 'terminal']);

export function findCommands(prompt: string): string[] {
  const commands: string[] = [];
  for (const { groups } of prompt.slice(0, MAX_PROMPT_CHARS).matchAll(CODE)) {
    const command =
      groups?.span ?? (SHELLS.has((groups?.language ?? '').trim().toLowerCase()) ? groups?.block : undefined);
    const text = withoutPrompts(command ?? '').trim();
    if (text) commands.push(text);
  }
  return commands;
}

function withoutPrompts(block: string): string {
  const lines = block.split('\n');
  const typed = lines.filter((line) => /^\s*\$ /.test(line));
  return typed.length > 0 ? typed.map((line) => line.replace(/^\s*\$ /, '')).join('\n') : block;
}
