/**
 * What a command prints, as far as it can be told from its words. This is what makes `$(echo rm)`,
 * `printf … | sh` and `$(which rm)` readable. Everything else prints something unknown that keeps the
 * origin (network, decoder) of what it read.
 */
import { decodeEscapes } from './escapes.ts';
import type { Call } from './host.ts';
import { DECODED, ENV, hasHole, OPAQUE, REMOTE, taintOf, toSource } from './marks.ts';
import { readOptions } from './options.ts';

const SILENT = new Set(
  'true false : cd export unset set shift exit return break continue read wait sleep mkdir touch chmod chown cp mv rm ln local declare readonly typeset alias shopt ulimit trap let test [ kill'.split(
    ' ',
  ),
);
/** Output that names a place, a number or a setting of the machine; harmless inside a larger text. */
const BENIGN = new Set(
  'pwd nproc date whoami hostname uname id mktemp basename dirname realpath readlink seq wc getconf tput stty locale arch tty groups logname dpkg-architecture lsb_release sw_vers xcrun xcode-select ls find fd stat du df git-root jobs uptime umask sha256sum md5sum shasum sum cksum'.split(
    ' ',
  ),
);
/** Tools whose documented use is `eval "$(tool …)"`: they print settings for this shell. */
const PRINTS_SETTINGS =
  /^(?:ssh-agent|conda|mamba|micromamba|brew|pyenv|rbenv|nodenv|goenv|jenv|direnv|fnm|starship|zoxide|opam|dircolors|luarocks|resize|mise|rtx|asdf|kubectl|helm|minikube|docker-machine|keychain|gh|poetry|register-python-argcomplete)$/;
const SETTINGS_VERB =
  /^(?:-s|-c|init|hook|shellenv|env|completion|shell\.\w+|activate|-|docker-env|path|--eval|--path|virtualenv-init|bash|.*--shell.*)$/;
const REMOTE_PROGRAMS =
  /^(?:curl|wget|wget2|http|https|xh|xhs|fetch|aria2c|axel|lynx|w3m|links|elinks|nc|ncat|netcat|telnet|socat|ftp|lftp|tftp|gsutil|scp|ssh|hget|lwp-request|get|dig|nslookup|host|openssl)$/;
const DECODERS =
  /^(?:base64|base32|basenc|xxd|uudecode|openssl|gunzip|zcat|gzip|bunzip2|bzcat|bzip2|xz|xzcat|unxz|zstd|zstdcat|lz4|brotli|rev|tr|gpg|od|hexdump|rot13|caesar|uncompress|ascii2uni|iconv|dc|bc|mcrypt|age)$/;
// Beyond this a text is a document, not a command; it passes through unread.
const MAX_TEXT = 1_000_000;

export function printed(call: Call): string {
  const { name, args, input, host } = call;
  const stdin = input?.text ?? '';
  switch (name) {
    case 'echo':
      return echo(args);
    case 'printf':
      return printf(args);
    case 'cat':
    case 'tac':
    case 'tee':
    case 'pv':
    case 'sponge':
      return passThrough(call, stdin);
    case 'yes':
      return `${args.join(' ') || 'y'}\n`;
    case 'which':
    case 'whereis':
    case 'type':
    case 'hash':
      return `${readOptions(args).operands.map(toSource).join('\n')}\n`;
    case 'command':
      if (onlyLooksUp(args)) return `${readOptions(args).operands.join('\n')}\n`;
      break;
  }
  if (SILENT.has(name)) return '';
  if (PRINTS_SETTINGS.test(name) && args.some((arg) => SETTINGS_VERB.test(arg))) return '';
  if (REMOTE_PROGRAMS.test(name) && name !== 'openssl') return REMOTE;
  if (DECODERS.test(name)) return decode(call, stdin);
  if (BENIGN.has(name)) return ENV;
  if (
    name === 'git' &&
    /^(?:rev-parse|describe|symbolic-ref|branch|config|ls-files|merge-base)$/.test(args[0] ?? '')
  )
    return ENV;
  for (const arg of args) {
    const content = host.read(arg);
    if (content !== undefined) return taintOf(stdin + content);
  }
  return taintOf(stdin);
}

/** `command -v name` prints where a program is instead of running it. */
export function onlyLooksUp(args: string[]): boolean {
  return /^-p*[vV]/.test(args[0] ?? '') || (args[0] === '-p' && /^-[vV]/.test(args[1] ?? ''));
}

function echo(args: string[]): string {
  let at = 0;
  let escapes = false;
  let newline = true;
  for (; at < args.length && /^-[neE]+$/.test(args[at]!); at++) {
    if (args[at]!.includes('e')) escapes = true;
    if (args[at]!.includes('n')) newline = false;
  }
  const text = args.slice(at).map(toSource).join(' ');
  // dash expands escapes without -e, so a text that has any is given in both readings.
  const decoded = escapes || text.includes('\\') ? decodeEscapes(text) : text;
  return escapes || decoded === text ? decoded + (newline ? '\n' : '') : `${text}\n${decoded}\n`;
}

/** The directives that build command text; anything else in the format makes the result unknown. */
function printf(words: string[]): string {
  const args = words[0] === '--' ? words.slice(1) : words;
  if (args[0] === '-v') return '';
  const [format = '', ...values] = args;
  if (format.length + values.length > MAX_TEXT) return OPAQUE;
  const directives = /%(?:%|[-+ 0#]*\d*(?:\.\d+)?([a-zA-Z]))/g;
  let out = '';
  let next = 0;
  do {
    const before = next;
    out += decodeEscapes(format).replace(directives, (whole, letter) => {
      if (whole === '%%') return '%';
      const value = toSource(values[next++] ?? '');
      if (letter === 's' || letter === 'q') return value;
      if (letter === 'b') return decodeEscapes(value);
      if (letter === 'c') return value.charAt(0);
      return /^[diu]$/.test(letter) && /^-?\d+$/.test(value) ? value : OPAQUE;
    });
    if (next === before) break;
  } while (next < values.length && out.length < MAX_TEXT);
  return out;
}

function passThrough({ name, args, host }: Call, stdin: string): string {
  const operands = readOptions(args).operands;
  if (name === 'tee' || name === 'sponge') {
    for (const path of operands) host.write(path, stdin);
    return stdin;
  }
  if (operands.length === 0) return stdin;
  let out = '';
  for (const path of operands) {
    out += path === '-' || path === '/dev/stdin' ? stdin : (host.read(path) ?? OPAQUE);
    if (out.length > MAX_TEXT) return taintOf(out);
  }
  return out;
}

const DECODES = /^-[A-Za-z]*[dDr]|^--(?:decode|decompress|uncompress|decrypt|revert)$|^enc$/;

function decode({ name, args, host }: Call, stdin: string): string {
  const always =
    /^(?:gunzip|zcat|bunzip2|bzcat|xzcat|unxz|zstdcat|uudecode|rev|tr|rot13|caesar|uncompress|od|hexdump|dc|bc)$/;
  if (!always.test(name) && !args.some((arg) => DECODES.test(arg))) return taintOf(stdin);
  const file = readOptions(args)
    .operands.map((path) => host.read(path))
    .find((text) => text !== undefined);
  const text = (stdin || file || '').trim();
  const origin = `\n${taintOf(stdin + (file ?? '')).replace(OPAQUE, '')}${DECODED}`;
  if (text === '' || hasHole(text) || text.length > MAX_TEXT) return OPAQUE + origin;
  if (name === 'base64' && /^[A-Za-z0-9+/=\s_-]+$/.test(text)) {
    return (
      Buffer.from(text, 'base64')
        .toString('utf8')
        .replace(/[\0\uE000-\uE01F]/g, '') + origin
    );
  }
  if (name === 'xxd' && /^[0-9a-fA-F\s]+$/.test(text)) {
    return (
      Buffer.from(text.replace(/\s/g, ''), 'hex')
        .toString('utf8')
        .replace(/[\0\uE000-\uE01F]/g, '') + origin
    );
  }
  if (name === 'rev')
    return (
      text
        .split('\n')
        .map((line) => [...line].reverse().join(''))
        .join('\n') + origin
    );
  return OPAQUE + origin;
}
