/**
 * What a command prints, as far as its words show it: this is what makes `$(echo rm)`, `printf … | sh` and
 * `$(which rm)` readable. Everything else prints something unknown that keeps the origin (network, decoder, a text of
 * this command line) of what it read.
 */
import { decodeEscapes } from '../parse/escapes.ts';
import type { Call } from '../rules/call.ts';
import { DECODED, ENV, HIDDEN, REMOTE, SETUP, taintOf, toSource } from './marks.ts';

export type Prints = 'remote' | 'decoded' | 'same' | 'setup' | 'text' | 'nothing' | undefined;

export function printed(call: Call, prints: Prints, operands: string[]): string {
  const { name, args, input, host } = call;
  const stdin = input?.text ?? '';
  switch (prints) {
    case 'nothing':
      return '';
    case 'remote':
      return REMOTE;
    case 'setup':
      return SETUP;
    case 'decoded':
      return (stdin.includes(REMOTE) ? REMOTE : '') + DECODED;
    case 'text':
      return ENV;
    case 'same':
      if (operands.length === 0 || name === 'tee') return stdin;
      return operands.map((path) => (path === '-' ? stdin : contentOf(path))).join('');
  }
  switch (name) {
    case 'echo':
      return echo(args);
    case 'printf':
      return printf(args);
    case 'yes':
      return `${args.join(' ') || 'y'}\n`;
    case 'which':
    case 'type':
    case 'command':
      return `${args.filter((arg) => !arg.startsWith('-')).join('\n')}\n`;
  }
  return taintOf(
    stdin + operands.map((path) => (host.read(path) === undefined ? '' : contentOf(path))).join(''),
  );

  function contentOf(path: string): string {
    const text = host.read(path) ?? ENV;
    host.scope.budget.charge(text.length);
    return text;
  }
}

function echo(args: string[]): string {
  let at = 0;
  let options = '';
  for (; at < args.length && /^-[neE]+$/.test(args[at]!); at++) options += args[at];
  const text = args.slice(at).map(toSource).join(' ');
  const end = options.includes('n') ? '' : '\n';
  // dash expands escapes without -e, so a text that has any is given in both readings.
  const decoded = decodeEscapes(text);
  return options.includes('e') || decoded === text ? decoded + end : `${text}\n${decoded}\n`;
}

/** The directives that build command text; anything else in the format makes the result unknown. */
function printf(args: string[]): string {
  const [format = '', ...values] = args[0] === '--' ? args.slice(1) : args;
  if (format === '-v') return '';
  let next = 0;
  const once = () =>
    decodeEscapes(toSource(format)).replace(/%(?:%|[-+ 0#]*\d*(?:\.\d+)?([a-zA-Z]))/g, (whole, letter) => {
      if (whole === '%%') return '%';
      const value = toSource(values[next++] ?? '');
      if (letter === 's' || letter === 'q') return value;
      if (letter === 'b') return decodeEscapes(value);
      return /^[diu]$/.test(letter) && /^\d+$/.test(value) ? value : HIDDEN;
    });
  const text = once();
  // The format is used again for what is left.
  return next === 0 || next >= values.length ? text : text + (values.length <= 2 * next ? once() : HIDDEN);
}
