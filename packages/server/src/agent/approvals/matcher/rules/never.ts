/**
 * Code of another language, and programs in unusual places, always ask. The functions here only check whether such a text
 * contains something that never runs.
 */
import type { Host } from './call.ts';
import { rowOf } from './rows.ts';

const STARTS_PROGRAMS = /system|exec|popen|spawn|subprocess|shell|wrapper|program|`|\bsh\b|getline|[!|]/;
/** Quoted texts in many languages; m4 begins one with a backtick and ends it with `'`. */
const QUOTED = /"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'|`([^`\n]*)`|`([^`'\n]*)'|!\s*([^\n]+)/g;

/** A command that may be one that never runs, in code of another language. The match ends where a string or a call ends. */
const COMMANDS = /\b(?:rm|dd|mkfs[.\w]*|shutdown|reboot|poweroff|halt)[ ,][^"'`)\n]*/g;

/** Judges the texts that code may hand to a shell. */
export function findNever(code: string, host: Host): void {
  host.scope.budget.charge(code.length);
  if (!STARTS_PROGRAMS.test(code)) return;
  neverOnly(host, () => {
    for (const [, double, single, backticks, m4, rest] of code.matchAll(QUOTED)) {
      const text = double ?? single ?? backticks ?? m4 ?? rest ?? '';
      if (text.includes(' ') || rest !== undefined) host.code(text, 'argument');
    }
  });
}

/** Judges the command that begins at one of these words, and the commands inside single words. */
export function findNeverIn(all: readonly string[], host: Host): void {
  // `--` means something else in each program, so it is dropped.
  const words = all.filter((word) => word !== '--');
  const at = words.findIndex((word) => rowOf(word.slice(word.lastIndexOf('/') + 1)) !== undefined);
  const starts = STARTS_PROGRAMS.test(words.join(' '));
  neverOnly(host, () => {
    if (at >= 0) host.run(words.slice(at));
    for (const word of words) {
      if (word.includes(' ')) host.code(word.replace(/^(?:\w*::|[+:!|]+)/, ''), 'argument');
      if (!starts) continue;
      for (const [command] of word.matchAll(COMMANDS)) host.code(command.replaceAll(',', ' '), 'argument');
    }
  });
}

/** Judges, and drops every finding except that something never runs. */
export function neverOnly({ scope }: Host, judge: () => void): void {
  const before = new Set(scope.keys);
  judge();
  for (const key of scope.keys) if (!before.has(key)) scope.keys.delete(key);
}
